import type { WireAmount } from './amount-codec';
import type { Amount } from './types';

/** A request whose amounts come from the codec: a `number` in its place would have passed through a float. */
export type WithExactAmounts<T> = T extends Amount
  ? WireAmount
  : T extends (infer Item)[]
    ? WithExactAmounts<Item>[]
    : T extends object
      ? { [Key in keyof T]: WithExactAmounts<T[Key]> }
      : T;
