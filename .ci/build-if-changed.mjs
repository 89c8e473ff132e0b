// Builds unless dist is newer than everything it is made of: a rebuild takes seconds, and takes dist away from under a
// service that runs from it.
import { spawnSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';

/** Written last by the build: a build that was interrupted does not count. */
const STAMP = 'dist/.built';
const FOLDERS = ['src', 'migrations', '.ci'];
const FILES = ['package.json', 'package-lock.json', 'nest-cli.json', 'tsconfig.json', 'tsconfig.build.json'];

const made = statSync(STAMP, { throwIfNoEntry: false })?.mtimeMs ?? 0;
// Folders count as well: a file that was removed changes nothing but its folder.
const inside = FOLDERS.flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
);
const newest = Math.max(...[...FOLDERS, ...FILES, ...inside].map((path) => statSync(path).mtimeMs));
if (newest > made) {
  const { status } = spawnSync('npm', ['run', '--silent', 'build'], { stdio: 'inherit' });
  process.exitCode = status ?? 1;
}
