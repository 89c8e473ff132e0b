import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BenchService } from './stand';

const SAMPLE_MS = 50;

/**
 * Does `work` and answers the most memory the service's process has ever had resident, in bytes: the kernel's own
 * mark, or where there is none the largest of the samples of its `/metrics`.
 */
export async function peakDuring(service: BenchService, work: () => Promise<unknown>): Promise<number> {
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

async function highWaterMark(pid: number): Promise<number | undefined> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1_024;
}

async function sampleMetrics(service: BenchService): Promise<number> {
  const metrics = await (await fetch(`${service.url}/metrics`)).text();
  const bytes = /^process_resident_memory_bytes (\d+)/m.exec(metrics)?.[1];
  if (bytes === undefined) throw new Error('the service does not measure its memory');
  return Number(bytes);
}
