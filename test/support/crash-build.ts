import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

const ROOT = projectOf(__dirname);

/** Also when this file itself was compiled into a build. */
function projectOf(folder: string): string {
  return existsSync(join(folder, 'package.json')) ? folder : projectOf(dirname(folder));
}

/** The build that keeps its crash points. */
export const CRASH_BUILD = join(ROOT, '.build/crash-points');

/** Makes the build, unless it is younger than every source. */
export function buildWithCrashPoints(): void {
  const built = join(CRASH_BUILD, 'src/main.js');
  const sources = ['src', 'migrations'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) =>
      join(ROOT, folder, name),
    ),
  );
  const newest = Math.max(...sources.map((source) => statSync(source).mtimeMs));
  if (existsSync(built) && statSync(built).mtimeMs > newest) return;
  execFileSync('npm', ['run', '-s', 'build:crash-points'], { cwd: ROOT });
}
