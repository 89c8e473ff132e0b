/**
 * A rule of the domain was broken by its caller. `code` is stable and goes to the outside; the message and
 * `detail` hold no name, IBAN or amount of a person.
 */
export class DomainError extends Error {
  override readonly name: string = 'DomainError';

  constructor(
    readonly code: string,
    message: string,
    readonly detail?: Record<string, unknown>,
  ) {
    super(message);
  }
}

/** A state machine was asked for a move its table does not hold. */
export class IllegalTransition extends DomainError {
  override readonly name = 'IllegalTransition';

  constructor(
    readonly entity: string,
    readonly from: string,
    readonly to: string,
  ) {
    super('ILLEGAL_TRANSITION', `A ${entity} does not move from ${from} to ${to}.`, { entity, from, to });
  }
}
