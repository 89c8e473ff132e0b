import { DomainError } from '../domain/errors';

/** Refuses a word while the bank shows payments, otherwise than they were sent, at an end that it does not say. */
export function shownOtherwise(payments: number): DomainError {
  return new DomainError(
    'SHOWN_OTHERWISE',
    `The bank shows, with other details than they were sent with, that ${payments} of these payments ended otherwise. Withdraw this, answer what is asked of them as ECHO_MISMATCH, if anything is, and ask the bank again.`,
  );
}

/** Refuses a word on a status that says itself what became of payments. */
export function statusIsClear(payments: number): DomainError {
  return new DomainError(
    'STATUS_IS_CLEAR',
    `The bank shows ${payments} of these payments in a status that says what became of them: it is recorded by itself. Withdraw this, and read what is asked then; or confirm it again in a minute, as the read may be older than what was asked about.`,
  );
}

/** Refuses to say that payments were not paid which went on. */
export function wasExecuted(payments: number): DomainError {
  return new DomainError(
    'WAS_EXECUTED',
    `The bank shows that ${payments} of these payments went on; they cannot be declared not paid. Withdraw this, and read what is asked then.`,
  );
}

/** Refuses a word on another status than was asked about. */
export function statusNotAsked(payments: number): DomainError {
  return new DomainError(
    'STATUS_NOT_ASKED',
    `${payments} of these payments show another status by now, which this did not ask about. Withdraw this, and read what is asked then.`,
  );
}

/** Refuses to say that payments were paid which ended unpaid. */
export function endedUnpaid(payments: number): DomainError {
  return new DomainError(
    'ENDED_UNPAID',
    `${payments} of these payments have ended unpaid by now; what was proposed cannot be true of them. Withdraw this, and read what is asked then.`,
  );
}

/** Refuses a word for which no payment waits any more. */
export function nothingToDecide(): DomainError {
  return new DomainError(
    'NOTHING_TO_DECIDE',
    'No payment that this asked about waits for what its status means any more. Withdraw this, and read what is asked then.',
  );
}
