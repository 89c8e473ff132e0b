import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { allEnded } from '../config/all-ended';
import { findById } from '../database/by-id';
import { Database, EmployerTransaction } from '../database/database';
import { wake } from '../database/leases';
import { isOfDatabase } from '../database/outage';
import { Instruction } from '../pay-run/instruction.entity';
import { moveInstruction } from '../pay-run/instruction.store';
import { finishCall } from './call-record';
import { isOlderThanARestore } from './submit-record';

/** A submit that was not sent, whose intent may or may not have been committed. */
export interface UnsentSubmit {
  readonly employerId: string;
  readonly instructionId: string;
  readonly attemptId: string;
  readonly callId: string;
  readonly why: string;
}

/** A process that ends gives a database that is away so long to come back: less than it is waited for. */
const LAST_TRIES_MS = 4_000;
const TRY_AGAIN_MS = 200;

/**
 * Submits that this process did not send, because the commit of their intent came back without certainty, or for
 * whatever else, which could not be written down. Nobody else can know that: without it an intent that was committed
 * would pass for a submit without an answer (rule 8: no byte was written). It is lost with the process, and then people
 * decide as after a crash.
 */
@Injectable()
export class UnsentSubmits {
  private readonly known = new Map<string, UnsentSubmit>();

  constructor(private readonly database: Database) {}

  remember(unsent: UnsentSubmit): void {
    this.known.set(unsent.attemptId, unsent);
  }

  /** Writes down of each that it was not sent, so that its instruction can be submitted. */
  takeBack(): Promise<void> {
    return allEnded([...this.known.values()].map((unsent) => this.takeOneBack(unsent)));
  }

  /** As `takeBack`, before the process ends: tried again for four seconds where the database is away. */
  async drain(): Promise<void> {
    const untilMs = performance.now() + LAST_TRIES_MS;
    while (this.known.size > 0) {
      try {
        await this.takeBack();
      } catch (error) {
        if (!isOfDatabase(error) || performance.now() > untilMs) throw error;
        await sleep(TRY_AGAIN_MS);
      }
    }
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
  const instruction = await findById(tx, Instruction, unsent.instructionId, 'for_no_key_update');
  // A restore may have taken it away: then nobody doubts it either.
  if (instruction === undefined) return;
  const [attempt] = await tx.query(
    `SELECT FROM submit_attempt s JOIN bank_call c ON c.employer_id = s.employer_id AND c.id = $3
     WHERE s.employer_id = $1 AND s.id = $2 AND c.outcome IS NULL
       AND (s.outcome IS NULL OR s.outcome = 'IN_DOUBT')`,
    [employerId, unsent.attemptId, unsent.callId],
  );
  if (instruction.status !== 'SUBMIT_INTENT' || attempt === undefined) return;
  // It may be written down already, sent again by another replica, and both forgotten.
  if (await isOlderThanARestore(tx, instruction)) return;
  await finishCall(tx, unsent.callId, { kind: 'no', reason: 'not-sent', why: unsent.why });
  await tx.query(
    `UPDATE submit_attempt SET outcome = 'PROVEN_UNSENT', outcome_detail = $3, finished_at = clock_timestamp()
     WHERE employer_id = $1 AND id = $2`,
    [employerId, unsent.attemptId, unsent.why],
  );
  await moveInstruction(tx, instruction, 'VERIFIED', 'service', {}, `the submit never left: ${unsent.why}`);
  wake(tx, 'INSTRUCTION', [instruction.id]);
}
