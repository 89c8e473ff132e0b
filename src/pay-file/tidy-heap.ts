import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { growAtMost, keepHeapSmall } from '../config/heap';

/** Some ten thousand rows: what is less makes too little garbage to be worth the twentieth of a second. */
export const LARGE_BYTES = 1_000_000;

let underWay = 0;

/**
 * Reads a file with a heap that is tidied before a tenth of it is garbage. Nothing else makes so much of it, and would
 * pay a third more CPU for this. A large file begins with a tidy heap: how much more may come is only thought over when
 * it is tidied.
 */
export async function withTidyHeap<T>(sizeBytes: number, read: () => Promise<T>): Promise<T> {
  if (underWay === 0) growAtMost(10);
  underWay += 1;
  try {
    if (sizeBytes > LARGE_BYTES) collect();
    return await read();
  } finally {
    underWay -= 1;
    if (underWay === 0) keepHeapSmall();
  }
}

/** What passes between two small rounds of the collector, of a millisecond or so. */
const PASSED_BYTES = 4_194_304;

/**
 * Counts the bytes of a file that pass, so that those done with are given back soon. To receive or to compress it makes
 * next to no other garbage: V8 would let 20 MB of the bytes lie about, and the process keep that memory for good.
 */
export class PassingBytes {
  private lately = 0;

  add(bytes: number): void {
    this.lately += bytes;
    if (this.lately < PASSED_BYTES) return;
    this.lately = 0;
    collect({ type: 'minor' });
  }
}

/** Collects all, unless it is told to collect what is young only. */
type Collector = (only?: { type: 'minor' }) => void;

/** A context that is made while V8 exposes its collector has it; the service's own code does not. */
const collect: Collector = (only) => {
  collector ??= exposed();
  collector(only);
};

let collector: Collector | undefined;

function exposed(): Collector {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as Collector;
  setFlagsFromString('--no-expose-gc');
  return gc;
}
