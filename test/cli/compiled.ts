import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';

export const CHECKOUT = resolve(__dirname, '../..');

const BUILDS = join(CHECKOUT, '.build');
const PREFIX = 'production-';
/** A spec file that runs in another process may still use an older one. */
const ABANDONED_AFTER_MS = 3_600_000;

const FOLDERS = ['src', 'migrations', '.ci'];
const FILES = ['package.json', 'nest-cli.json', 'tsconfig.json', 'tsconfig.build.json'];

type Stamped = readonly (readonly [path: string, changedMs: number])[];

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
  const inputs = stamped();
  const folder = join(BUILDS, `${PREFIX}${fingerprint(inputs)}`);
  if (existsSync(folder)) return folder;
  const unfinished = join(BUILDS, `unfinished-${process.pid}`);
  mkdirSync(BUILDS, { recursive: true });
  if (isCurrent(inputs)) cpSync(join(CHECKOUT, 'dist'), unfinished, { recursive: true });
  else {
    run('node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', '--noCheck', '--outDir', unfinished);
    run('.ci/strip-crash-points.mjs', unfinished);
  }
  removeAbandoned();
  try {
    renameSync(unfinished, folder);
  } catch (error) {
    // Another process was first.
    rmSync(unfinished, { recursive: true });
    if (!existsSync(folder)) throw error;
  }
  return folder;
}

/** Whether `npm run build` was the last to do something to what it is made of. */
function isCurrent(inputs: Stamped): boolean {
  const made = statSync(join(CHECKOUT, 'dist/.built'), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return inputs.every(([, changed]) => changed <= made);
}

function removeAbandoned(): void {
  for (const name of readdirSync(BUILDS).filter((one) => one.startsWith(PREFIX))) {
    const path = join(BUILDS, name);
    // Another process may have removed it meanwhile.
    const { mtimeMs = Infinity } = statSync(path, { throwIfNoEntry: false }) ?? {};
    if (Date.now() - mtimeMs > ABANDONED_AFTER_MS) rmSync(path, { recursive: true, force: true });
  }
}

/** What the product is compiled from, and when each was changed; folders too, for what was removed. */
function stamped(): Stamped {
  const inside = FOLDERS.flatMap((folder) =>
    readdirSync(join(CHECKOUT, folder), { recursive: true, encoding: 'utf8' }).map((name) =>
      join(folder, name),
    ),
  );
  return [...FILES, ...FOLDERS, ...inside.sort()].map((path) => [
    path,
    statSync(join(CHECKOUT, path)).mtimeMs,
  ]);
}

function fingerprint(inputs: Stamped): string {
  const hash = createHash('sha256');
  for (const [path, changed] of inputs) hash.update(`${path} ${changed}\n`);
  return hash.digest('hex').slice(0, 16);
}

function run(...args: string[]): void {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: CHECKOUT, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${args.join(' ')} failed:\n${stdout}${stderr}`);
}
