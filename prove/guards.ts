/** The guards that `--without` takes away, and what each of them is in the protocol. */
export const GUARDS = {
  intent: 'a durable intent before every POST (rule 1)',
  abandon: 'an add in doubt ends its instruction (rule 4)',
  gate: 'the instruction is read whole before its submit, and its rows are hashed (rule 7)',
  unique: 'one submit attempt per planned instruction (rule 8)',
  fencing: 'a worker that was overtaken is turned away (rule 13)',
  echo: 'what the bank shows is compared with what was sent (rule 14)',
  totals: 'totals are compared, and what differs is told, in the transaction that records them (rule 9)',
} as const;

export type Guard = keyof typeof GUARDS;

export function isGuard(name: string): name is Guard {
  return Object.hasOwn(GUARDS, name);
}
