import { setFlagsFromString } from 'node:v8';

/** Of the service, but for large files. */
const USUAL_GROWTH_PERCENT = 50;

/**
 * Keeps the heap within half as much again as is in use. By itself V8 lets garbage double and double again where the
 * machine has memory to spare: a run of 100,000 payments that is read back and followed leaves half a gigabyte.
 */
export function keepHeapSmall(): void {
  growAtMost(USUAL_GROWTH_PERCENT);
}

/** How much may come before it is tidied, in percent of what was in use when it was tidied last. */
export function growAtMost(percent: number): void {
  setFlagsFromString(`--heap-growing-percent=${percent}`);
}
