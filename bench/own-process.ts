import { ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** A program of this checkout in a process of its own. */
export interface OwnProcess {
  url: string;
  pid: number;
  stop(): Promise<void>;
}

/**
 * Starts a compiled program that listens on a port of its own choice and prints `{"url":…}`.
 * @param nodeFlags such as `--cpu-prof`
 * @throws Error when it ends instead
 */
export async function startOwnProcess(
  script: string,
  env: NodeJS.ProcessEnv,
  nodeFlags: readonly string[] = [],
): Promise<OwnProcess> {
  // The channel tells the program when this process dies.
  const child = fork(script, { env, execArgv: [...nodeFlags], stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  const url = await Promise.race([addressOf(child), endOf(child)]);
  const { pid } = child;
  if (url === undefined || pid === undefined) throw new Error(`${script} did not start`);
  return { url, pid, stop: () => stopChild(child) };
}

function addressOf(child: ChildProcess): Promise<string> {
  const { stdout } = child;
  if (stdout === null) throw new Error('the output of the program is not piped');
  return new Promise((resolve) => {
    createInterface({ input: stdout }).on('line', (line) => {
      const url = /^\{"url":"([^"]+)"\}$/.exec(line)?.[1];
      if (url === undefined) process.stderr.write(`${line}\n`);
      else resolve(url);
    });
  });
}

async function endOf(child: ChildProcess): Promise<undefined> {
  await once(child, 'exit');
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  await gone;
}
