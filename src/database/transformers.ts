import { ValueTransformer } from 'typeorm';

/** PostgreSQL's bigint as a bigint; never a number, so that no amount is rounded. */
export const bigintColumn: ValueTransformer = {
  from: (value: string | null) => (value === null ? null : BigInt(value)),
  to: (value: bigint | null | undefined) => (typeof value === 'bigint' ? value.toString() : value),
};
