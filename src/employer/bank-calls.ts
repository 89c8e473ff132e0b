import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { BankError } from '../bank/errors';
import type { Outcome } from '../bank/outcome';
import { Clock } from '../config/clock';
import { Database, EmployerTransaction } from '../database/database';
import { afterCommit } from '../database/outage';
import { newId } from '../database/new-id';

/** A call to the bank that changes something there. */
export interface IntendedCall {
  readonly employerId: string;
  /** UUID of what it is about: a probe, an account, or an instruction. */
  readonly subjectId: string;
  readonly operation: 'initiate' | 'delete' | 'open_account' | 'close_account';
  /** The path it goes to. */
  readonly target: string;
  readonly body: string;
}

/** Calls of onboarding, and deletes after a restore: an intent is committed before each and its outcome after it (protocol rule 1). */
@Injectable()
export class BankCalls {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** Sends once, between intent and outcome. `permit` may still forbid it in the transaction of the intent. */
  async recorded<T>(
    call: IntendedCall,
    send: () => Promise<Outcome<T>>,
    permit: Parameters<Database['inEmployer']>[1] = async () => undefined,
  ): Promise<Outcome<T>> {
    const { employerId, subjectId, operation, target } = call;
    const callId = newId(this.clock.now().getTime());
    await this.database.inEmployer(employerId, async (tx) => {
      await permit(tx);
      await intendCall(tx, { callId, operation, subjectId, target, bodyHash: bodyHashOf(call) });
    });
    const outcome = await send();
    await afterCommit(() =>
      this.database.inEmployerRepeatedly(employerId, (tx) => writeOutcome(tx, callId, outcome)),
    );
    return outcome;
  }
}

/** A call that is about to be sent; `epoch` is that of the lease it is sent under, where there is one. */
export interface CallIntent extends Pick<IntendedCall, 'subjectId' | 'target'> {
  readonly callId: string;
  readonly operation: IntendedCall['operation'] | 'submit';
  readonly bodyHash: Buffer;
  readonly attempt?: number;
  readonly epoch?: string;
}

/** Writes down that a call will be sent: once that is committed it may be (protocol rule 1). */
export async function intendCall(tx: EmployerTransaction, call: CallIntent): Promise<void> {
  const { callId, operation, subjectId, target, bodyHash, attempt = 1, epoch = '0' } = call;
  await tx.query(
    `INSERT INTO bank_call (employer_id, id, operation, instruction_id, target, body_hash, attempt, epoch)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [tx.employerId, callId, operation, subjectId, target, bodyHash, attempt, epoch],
    'kept',
  );
}

/** Writes down what became of a call. @returns whether its intent is there */
export async function writeOutcome(
  tx: EmployerTransaction,
  callId: string,
  outcome: Outcome<unknown>,
): Promise<boolean> {
  const told = { yes: 'YES', no: 'NO', 'in-doubt': 'IN_DOUBT' }[outcome.kind];
  const finished = await tx.query(
    `WITH finished AS (
       UPDATE bank_call SET outcome = $3, outcome_detail = $4, finished_at = clock_timestamp()
       WHERE employer_id = $1 AND id = $2 RETURNING id)
     SELECT id FROM finished`,
    [tx.employerId, callId, told, recordOf(outcome)],
    'kept',
  );
  return finished.length > 0;
}

/** What the intent keeps of a call's body. */
export function bodyHashOf({ body }: Pick<IntendedCall, 'body'>): Buffer {
  return createHash('sha256').update(body).digest();
}

/** What is kept of an outcome: where the bank said nothing in words that could be read, the body as well, masked. */
function recordOf(outcome: Outcome<unknown>): string | null {
  const said = wordsOf(outcome);
  const body = bodyOf(outcome);
  return said === null || !body ? said : `${said}: ${body}`;
}

function bodyOf(outcome: Outcome<unknown>): string | undefined {
  if (outcome.kind === 'in-doubt') return outcome.raw;
  return outcome.kind === 'no' && outcome.error?.words === undefined ? outcome.error?.raw : undefined;
}

/** An outcome that was no yes, with the bank's words, masked by the client; null on a yes. */
export function wordsOf(outcome: Outcome<unknown>): string | null {
  switch (outcome.kind) {
    case 'yes':
      return null;
    case 'no':
      return outcome.error ? inFull(outcome.error) : (outcome.why ?? outcome.reason);
    case 'in-doubt':
      return outcome.why;
  }
}

function inFull({ message, words }: BankError): string {
  return words === undefined ? message : `${message}: ${words}`;
}
