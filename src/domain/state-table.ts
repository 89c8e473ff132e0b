import { IllegalTransition } from './errors';

/** For each state, the states it may move to. A state with none is final. */
export type StateTable<S extends string> = Readonly<Record<S, readonly S[]>>;

/** Whether the table holds the move. Staying in a state is not a move. */
export function mayMove<S extends string>(table: StateTable<S>, from: S, to: S): boolean {
  return table[from].includes(to);
}

/** Throws `IllegalTransition` when the table does not hold the move; `entity` names the kind of thing moved. */
export function assertMove<S extends string>(entity: string, table: StateTable<S>, from: S, to: S): void {
  if (!mayMove(table, from, to)) throw new IllegalTransition(entity, from, to);
}

/** The states of `all` that nothing leaves, in the order given. */
export function finalStates<S extends string>(all: readonly S[], table: StateTable<S>): readonly S[] {
  return all.filter((state) => table[state].length === 0);
}
