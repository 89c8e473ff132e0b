import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { OwnProcess } from './own-process';

const SAMPLE_MS = 50;

/**
 * Does `work` and answers the most memory the service's process has ever had resident, in bytes: the kernel's own
 * mark, or where there is none the largest of the samples of its `/metrics`.
 */
export async function peakDuring(service: OwnProcess, work: () => Promise<unknown>): Promise<number> {
  if ((await highWaterMark(service.pid)) !== undefined) {
    await work();
    return (await highWaterMark(service.pid)) ?? 0;
  }
  let largest = 0;
  let busy = true;
  const done = work().finally(() => (busy = false));
  done.catch(() => undefined);
  while (busy) {
    largest = Math.max(largest, await sampleMetrics(service));
    await sleep(SAMPLE_MS);
  }
  await done;
  return largest;
}

/**
 * The most memory any process has ever had resident, in bytes: the kernel's own mark, or where there is none what `ps`
 * shows of it now, which is worth asking more than once.
 */
export async function residentBytes(pid: number): Promise<number> {
  const mark = await highWaterMark(pid);
  if (mark !== undefined) return mark;
  const { stdout } = await promisify(execFile)('ps', ['-o', 'rss=', '-p', String(pid)]);
  return Number(stdout.trim()) * 1_024;
}

async function highWaterMark(pid: number): Promise<number | undefined> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1_024;
}

async function sampleMetrics(service: OwnProcess): Promise<number> {
  const metrics = await (await fetch(`${service.url}/metrics`)).text();
  const bytes = /^process_resident_memory_bytes (\d+)/m.exec(metrics)?.[1];
  if (bytes === undefined) throw new Error('the service does not measure its memory');
  return Number(bytes);
}
