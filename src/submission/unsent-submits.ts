import { Injectable } from '@nestjs/common';
import { Database, EmployerTransaction } from '../database/database';
import { lockInstruction, moveInstruction } from '../pay-run/instruction.store';
import { finishCall } from './call-record';

/** A submit whose intent may or may not have been committed. */
export interface UnsentSubmit {
  readonly employerId: string;
  readonly instructionId: string;
  readonly attemptId: string;
  readonly callId: string;
}

const WHY = 'its intent was not known to be durable, so it was not sent';

/**
 * Submits that this process did not send because the commit of their intent came back without certainty. Nobody else
 * can know that: without it an intent that was committed after all would pass for a submit without an answer (rule 8:
 * no byte was written). It is lost with the process, and then people decide as after a crash.
 */
@Injectable()
export class UnsentSubmits {
  private readonly known = new Map<string, UnsentSubmit>();

  constructor(private readonly database: Database) {}

  remember(unsent: UnsentSubmit): void {
    this.known.set(unsent.attemptId, unsent);
  }

  /** Writes down of each that it was not sent, so that its instruction can be submitted. */
  async takeBack(): Promise<void> {
    await Promise.all([...this.known.values()].map((unsent) => this.takeOneBack(unsent)));
  }

  private async takeOneBack(unsent: UnsentSubmit): Promise<void> {
    await this.database.inEmployer(unsent.employerId, (tx) => provenUnsent(tx, unsent));
    this.known.delete(unsent.attemptId);
  }
}

/**
 * The lock on the instruction waits for a commit that is still under way: then the attempt is there, or never will be.
 * Another replica may doubt it by now, but nobody can have an answer to what was not sent.
 */
async function provenUnsent(tx: EmployerTransaction, unsent: UnsentSubmit): Promise<void> {
  const { employerId } = tx;
  const instruction = await lockInstruction(tx, unsent.instructionId);
  const [attempt] = await tx.query(
    `SELECT FROM submit_attempt s JOIN bank_call c ON c.employer_id = s.employer_id AND c.id = $3
     WHERE s.employer_id = $1 AND s.id = $2 AND c.outcome IS NULL
       AND (s.outcome IS NULL OR s.outcome = 'IN_DOUBT')`,
    [employerId, unsent.attemptId, unsent.callId],
  );
  if (instruction.status !== 'SUBMIT_INTENT' || attempt === undefined) return;
  await finishCall(tx, unsent.callId, { kind: 'no', reason: 'not-sent', why: WHY });
  await tx.query(
    `UPDATE submit_attempt SET outcome = 'PROVEN_UNSENT', outcome_detail = $3, finished_at = clock_timestamp()
     WHERE employer_id = $1 AND id = $2`,
    [employerId, unsent.attemptId, WHY],
  );
  await moveInstruction(tx, instruction, 'VERIFIED', 'service', {}, `the submit never left: ${WHY}`);
}
