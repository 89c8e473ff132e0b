import { readdir, readFile } from 'node:fs/promises';

/** What a process has used of a core so far, in µs. Linux only: elsewhere the benches that measure it cannot run. */
export async function cpuUsedUs(pid: number): Promise<number> {
  const nanoseconds = (await readFile(`/proc/${pid}/schedstat`, 'utf8')).split(' ')[0];
  return (Number(nanoseconds) + (await ofOtherThreads(pid))) / 1_000;
}

/** `schedstat` of a process is that of its first thread. */
async function ofOtherThreads(pid: number): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`);
  const used = threads
    .filter((thread) => thread !== String(pid))
    .map(async (thread) => {
      const line = await readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').catch(() => '0');
      return Number(line.split(' ')[0]);
    });
  return (await Promise.all(used)).reduce((sum, one) => sum + one, 0);
}

/** What a process and its children use, those that ended included (these to 10 ms), in µs. */
export async function cpuOfFamilyUs(parent: number): Promise<number> {
  let total = (await cpuUsedUs(parent)) + (await ofEndedChildren(parent));
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const status = await readFile(`/proc/${entry}/status`, 'utf8').catch(() => '');
    if (!status.includes(`\nPPid:\t${parent}\n`)) continue;
    total += await cpuUsedUs(Number(entry)).catch(() => 0);
  }
  return total;
}

const TICK_US = 10_000;

async function ofEndedChildren(pid: number): Promise<number> {
  const line = await readFile(`/proc/${pid}/stat`, 'utf8');
  // After the name in parentheses; fields 16 and 17 of proc(5) are cutime and cstime.
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13]) + Number(fields[14])) * TICK_US;
}
