import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { transformFileSync } from '@swc/core';

const ROOT = resolve(__dirname, '../..');

/** Compiles the sandbox into a folder of its own, so that it can run as a process without a build. */
function compiled(): string {
  const target = mkdtempSync(join(tmpdir(), 'bank-sandbox-'));
  const folder = join(ROOT, 'src/bank-sandbox');
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const sources = names.filter((name) => name.endsWith('.ts')).map((name) => join(folder, name));
  for (const source of [...sources, join(ROOT, 'src/bank/types.ts')]) {
    const { code } = transformFileSync(source, {
      jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
      module: { type: 'commonjs' },
    });
    const output = join(target, relative(join(ROOT, 'src'), source)).replace(/ts$/, 'js');
    mkdirSync(dirname(output), { recursive: true });
    writeFileSync(output, code);
  }
  return join(target, 'bank-sandbox/main.js');
}

const children = new Set<ChildProcess>();
afterAll(async () => {
  for (const child of children) await end(child, 'SIGKILL');
  if (main !== undefined) rmSync(resolve(main, '../..'), { recursive: true });
});

let main: string | undefined;

/** Starts the sandbox as its own process; resolves with the address of the line it prints, rejects with its error. */
export async function startProcess(
  env: Record<string, string>,
): Promise<{ child: ChildProcess; url: string }> {
  main ??= compiled();
  const child = spawn(process.execPath, [main], {
    env: { ...process.env, NODE_PATH: join(ROOT, 'node_modules'), SANDBOX_STEP_MS: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.add(child);
  let said = '';
  child.stderr.on('data', (data: Buffer) => (said += data.toString()));
  const line = await new Promise<string>((resolveLine, reject) => {
    child.stdout.once('data', (data: Buffer) => resolveLine(data.toString()));
    child.once('close', (code) => reject(new Error(`the sandbox ended with ${code}: ${said}`)));
  });
  return { child, url: (JSON.parse(line) as { url: string }).url };
}

/** Ends a process started here and waits until it is gone; resolves with its exit code. */
export function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  const gone = ended(child);
  child.kill(signal);
  return gone;
}

export function ended(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(child.exitCode);
  return new Promise((resolveCode) => child.once('exit', resolveCode));
}
