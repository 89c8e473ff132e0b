import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';

export const CHECKOUT = resolve(__dirname, '../..');

const BUILDS = join(CHECKOUT, '.build');
const PREFIX = 'production-';
/** A spec file that runs in another process may still use an older one. */
const ABANDONED_AFTER_MS = 3_600_000;

let built: string | undefined;

/**
 * Compiles the product as `npm run build` does, without checking types again, into a folder named after its sources;
 * spec files that run at the same time share it. Returns the folder.
 */
export function compiled(): string {
  return (built ??= build());
}

/** The command line, as a script for Node. */
export function commandLine(): string {
  return join(compiled(), 'src/cli/main.js');
}

function build(): string {
  const folder = join(BUILDS, `${PREFIX}${fingerprint()}`);
  if (existsSync(folder)) return folder;
  const unfinished = join(BUILDS, `unfinished-${process.pid}`);
  mkdirSync(BUILDS, { recursive: true });
  run('node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', '--noCheck', '--outDir', unfinished);
  run('.ci/strip-crash-points.mjs', unfinished);
  removeAbandoned();
  if (existsSync(folder)) rmSync(unfinished, { recursive: true });
  else renameSync(unfinished, folder);
  return folder;
}

function removeAbandoned(): void {
  for (const name of readdirSync(BUILDS)) {
    const path = join(BUILDS, name);
    const isOld = Date.now() - statSync(path).mtimeMs > ABANDONED_AFTER_MS;
    if (name.startsWith(PREFIX) && isOld) rmSync(path, { recursive: true });
  }
}

function fingerprint(): string {
  const inputs = ['src', 'migrations', '.ci'].flatMap((folder) =>
    readdirSync(join(CHECKOUT, folder), { recursive: true, encoding: 'utf8' }).map((name) =>
      join(folder, name),
    ),
  );
  const hash = createHash('sha256');
  for (const path of ['tsconfig.json', 'tsconfig.build.json', ...inputs.sort()]) {
    hash.update(`${path} ${statSync(join(CHECKOUT, path)).mtimeMs}\n`);
  }
  return hash.digest('hex').slice(0, 16);
}

function run(...args: string[]): void {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: CHECKOUT, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${args.join(' ')} failed:\n${stdout}${stderr}`);
}
