import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Some ten thousand rows: what is less makes too little garbage to be worth the twentieth of a second. */
const LARGE_BYTES = 1_000_000;

let underWay = 0;

/**
 * Reads a file with a heap that is tidied before a tenth of it is garbage. By itself V8 lets garbage double and double
 * again where the machine has memory to spare: after some large files half a gigabyte, of which an eighth is in use.
 * Nothing else makes so much of it, and would pay a third more CPU for this. A large file begins with a tidy heap: how
 * much more may come is only thought over when it is tidied.
 */
export async function withTidyHeap<T>(sizeBytes: number, read: () => Promise<T>): Promise<T> {
  if (underWay === 0) setFlagsFromString('--heap-growing-percent=10');
  underWay += 1;
  try {
    if (sizeBytes > LARGE_BYTES) tidy();
    return await read();
  } finally {
    underWay -= 1;
    if (underWay === 0) setFlagsFromString('--heap-growing-percent=0');
  }
}

/** A context that is made while V8 exposes its collector has it; the service's own code does not. */
function tidy(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  setFlagsFromString('--no-expose-gc');
}
