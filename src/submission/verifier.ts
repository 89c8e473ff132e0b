import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '../config/clock';
import { Ages } from '../config/ages';
import { CONFIG, Config } from '../config/env';
import { crashPoint } from '../config/crash-point';
import { readDriverError } from '../config/driver-error';
import { Database, EmployerTransaction } from '../database/database';
import { Claim, fence, isThere, wake } from '../database/leases';
import { WakeIn } from '../database/lease-worker';
import { aboutInstruction, clear, clearAttempt, raiseUndecided } from '../pay-run/attention.store';
import { tellOfBearers } from '../pay-run/charge-bearer';
import { BEFORE_SUBMIT, UNSENT_OR_NOT } from '../pay-run/attention-actions';
import { ATTENTION_WORDS, WAS_IT_SUBMITTED } from '../pay-run/attention-words';
import { isEndedBeforeSubmit } from '../domain/bank-status';
import { textOfFirstFew } from '../domain/first-few';
import { lockInstruction, moveInstruction } from '../pay-run/instruction.store';
import { Abandonment } from './abandonment';
import { raiseRefused } from './add-record';
import { rowsRenamed, SeenPayment } from '../pay-run/match';
import { InstructionReader, ReadBack, shownUnclear } from './read-back';
import { HAS_ID_OF_ANOTHER, noteTaken, takenIds } from './taken-ids';
import { tellOfUnrecordedMove } from './unrecorded-move';
import { UnsubmittedLook } from './unsubmitted-look';
import { nowSeen, pauseWhileUnseen, tellOfUnseen, Unseen } from './unseen';
import { assertUnchanged, PayableRow, Work } from './work';

/** Rows that a question names; of the others it says how many. */
const NAMED_ROWS = 10;

/** Pause between reads that wait for the bank to show what was added. */
const READ_AGAIN_MS = 1_000;

/** Pause between reads of what moved without a submit of ours: people decide it, a read only tells what becomes of it. */
const MOVED_PAUSE_MS = 60_000;

const UNANSWERED = 'an add without an answer was not seen within the lag bound';
const ANSWERED_ODDLY = 'an add was not answered as it must be, and not seen within the lag bound';

const SHOWN_AS_APPROVED = 'a later read showed every row as approved';

/** What is not yet, or not any more, shown as it was added. */
type Lacking = ReadBack & { kind: 'fewer' | 'wait' | 'unclear' };

/** Holds a fully built instruction against its approved rows, and settles adds that are in doubt (rules 4 and 7). */
@Injectable()
export class Verifier {
  private readonly ages = new Ages();

  constructor(
    private readonly database: Database,
    private readonly reader: InstructionReader,
    private readonly abandonment: Abandonment,
    private readonly unsubmitted: UnsubmittedLook,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async step(claim: Claim, work: Work, rows: readonly PayableRow[]): Promise<WakeIn> {
    const doubts = rows.filter((row) => row.addOutcome === 'IN_DOUBT');
    const lagLeftMs = this.config.BANK_LAG_BOUND_MS - (await this.sinceLastAddMs(work));
    if (lagLeftMs > 0 && doubts.length === 0) return this.restOf(lagLeftMs, work);
    const reading = await this.reader.readBack(work, rows);
    switch (reading.kind) {
      case 'equal':
        // What else was added may show until then, also where one add had no answer and all are seen.
        if (lagLeftMs > 0) return Math.ceil(lagLeftMs);
        if (!(await this.verified(claim, work, rows, reading)))
          return this.abandonment.rebuild(claim, work, HAS_ID_OF_ANOTHER);
        // Built again after its run began to submit: nobody else wakes it for that.
        return work.run.status === 'SUBMITTING' ? 0 : 'never';
      case 'fewer':
        if (lagLeftMs > 0) return Math.max(READ_AGAIN_MS, Math.min(lagLeftMs, READ_AGAIN_MS * 5));
        return this.fewer(claim, work, rows, reading);
      case 'wait':
      case 'unclear':
        return this.wait(claim, work, reading);
      case 'moved':
        return this.breach(claim, work, reading.bankStatus);
      case 'gone':
        // Until then a read may be older than the instruction.
        return lagLeftMs > 0 ? Math.ceil(lagLeftMs) : this.abandonment.endAsRead(claim, work, reading);
      case 'dead':
      case 'unidentified':
      case 'different':
        return this.abandonment.endAsRead(claim, work, reading);
    }
  }

  /** What is left of a wait, in which the bank's list may be looked at. */
  private async restOf(waitMs: number, { run, account }: Work): Promise<number> {
    const begunMs = performance.now();
    await this.unsubmitted.at('building', run, account);
    return Math.max(Math.ceil(waitMs - (performance.now() - begunMs)), 0);
  }

  private async sinceLastAddMs(work: Work): Promise<number> {
    const [row] = await this.database.inEmployer(work.instruction.employerId, (tx) =>
      tx.query<{ ms: number | null; ahead_ms: number | null }>(
        `SELECT min(ms) FILTER (WHERE ms >= 0) AS ms, min(ms) FILTER (WHERE ms < 0) AS ahead_ms
         FROM (SELECT extract(epoch FROM clock_timestamp() - coalesce(finished_at, intended_at))::float8 * 1000 AS ms
           FROM add_intent WHERE employer_id = $1 AND instruction_id = $2) AS ago`,
        [work.instruction.employerId, work.instruction.id],
        'kept',
      ),
    );
    const [lastMs, aheadMs] = [row?.ms ?? null, row?.ahead_ms ?? null];
    if (aheadMs === null) return lastMs ?? 0;
    return Math.min(lastMs ?? Infinity, this.ages.of(work.instruction.id, aheadMs));
  }

  /** @returns whether it is: not where the record has the id of one of its payments as that of another, of whatever employer */
  private async verified(
    claim: Claim,
    work: Work,
    rows: readonly PayableRow[],
    reading: ReadBack & { kind: 'equal' },
  ): Promise<boolean> {
    const { matched } = reading.judgement;
    const doubts = rows.filter((row) => row.addOutcome === 'IN_DOUBT');
    const renamed = rowsRenamed(rows, matched);
    try {
      await this.database.inEmployer(claim.employerId, async (tx) => {
        const instruction = await lockInstruction(tx, work.instruction.id);
        await fence(tx, claim);
        isThere(tx, claim, 'ROWS');
        await adopt(tx, instruction.id, doubts, matched);
        await moveInstruction(tx, instruction, 'VERIFIED', 'service', {
          verifiedAt: this.clock.now(),
          bankStatus: reading.instruction?.status ?? instruction.bankStatus,
        });
        await clear(tx, ['ROW_UNSEEN', 'ECHO_MISMATCH', 'CONTRACT_DRIFT'], instruction.id, SHOWN_AS_APPROVED);
        await clearAttempt(tx, instruction.id, SHOWN_AS_APPROVED);
        if (renamed.length > 0) await tellOfNames(tx, work, renamed);
        await tellOfBearers(tx, instruction, bearersIn(matched));
        wake(tx, 'RUN', [work.run.id]);
      });
    } catch (error) {
      if (readDriverError(error)?.constraint !== 'one_row_per_bank_payment') throw error;
      await this.keepTaken(claim, work, matched);
      return false;
    }
    crashPoint('build.verified');
    return true;
  }

  /** Which ids of its payments are those of others: people are told of each, should it be built too often. */
  private async keepTaken(
    claim: Claim,
    work: Work,
    matched: ReadonlyMap<number, SeenPayment>,
  ): Promise<void> {
    const taken = await takenIds(this.database, work.instruction, matched);
    await this.database.inEmployer(claim.employerId, async (tx) => {
      const instruction = await assertUnchanged(tx, claim, work);
      await noteTaken(tx, instruction, taken);
    });
  }

  /**
   * After the lag bound: doubts that are not seen end the instruction. What the bank itself ended is asked about where
   * nothing else is missing, for no wait brings it back; other rows once confirmed are waited for.
   */
  async fewer(
    claim: Claim,
    work: Work,
    rows: readonly PayableRow[],
    reading: ReadBack & { kind: 'fewer' },
  ): Promise<WakeIn> {
    const { matched } = reading.judgement;
    const unseen = rows.filter((row) => !matched.has(row.rowNo));
    const doubts = unseen.filter((row) => row.addOutcome === 'IN_DOUBT');
    if (doubts.length > 0) {
      const isAnswered = doubts.some((row) => row.addDoubt !== null);
      return this.abandonment.rebuild(claim, work, isAnswered ? ANSWERED_ODDLY : UNANSWERED);
    }
    const isEnded = (row: PayableRow) => isEndedBeforeSubmit(statusOf(row, matched));
    const ended = rows.filter(isEnded);
    if (ended.length === 0 || !unseen.every(isEnded)) return this.wait(claim, work, reading);
    await this.database.inEmployer(claim.employerId, async (tx) => {
      await assertUnchanged(tx, claim, work);
      for (const row of ended) {
        const status = statusOf(row, matched);
        const happened = `The bank took the payment of row ${row.rowNo}, ended it before any submit (${status}), and does not count it.`;
        await raiseRefused(tx, work, row, { happened });
      }
      await clear(tx, ['ROW_UNSEEN'], work.instruction.id, 'the bank ended what it does not show');
    });
    return 'never';
  }

  /**
   * Waits for the bank to show the instruction whole and INITIATED, which is what it goes on by. A person is told of
   * a wait that takes too long (rule 7).
   */
  async wait(claim: Claim, work: Work, reading: Lacking): Promise<number> {
    await this.database.inEmployer(claim.employerId, async (tx) => {
      await assertUnchanged(tx, claim, work);
      const unseen = lackIn(work, reading);
      await tellOfUnseen(tx, claim, 'ROWS', unseen, [unseen.happened]);
    });
    return pauseWhileUnseen(claim, 'ROWS');
  }

  /** The bank shows it whole at its gate: what it lacked before is not asked any more. */
  async shown(claim: Claim, work: Work): Promise<void> {
    if (claim.missing === null) return;
    await this.database.inEmployer(claim.employerId, async (tx) => {
      await assertUnchanged(tx, claim, work);
      await nowSeen(tx, claim, 'ROWS', work.instruction.id);
    });
  }

  /** Money may have moved without a submit of ours (rule 5). @returns when to read it again; it is never submitted */
  async breach(claim: Claim, work: Work, bankStatus: string): Promise<WakeIn> {
    await this.database.inEmployer(claim.employerId, async (tx) => {
      await assertUnchanged(tx, claim, work);
      await tellOfUnrecordedMove(tx, work, bankStatus);
    });
    return MOVED_PAUSE_MS;
  }
}

/** The bank's status of a row, as it is shown or as its add was answered. */
function statusOf(row: PayableRow, matched: ReadonlyMap<number, SeenPayment>): string {
  return matched.get(row.rowNo)?.status ?? row.bankStatus ?? '';
}

function bearersIn(matched: ReadonlyMap<number, SeenPayment>) {
  return [...matched].map(([rowNo, { chargeBearer }]) => ({ rowNo, chargeBearer }));
}

/** Once a run: a bank that writes names in its own way does so in each of its instructions. */
function tellOfNames(tx: EmployerTransaction, work: Work, rowNos: readonly number[]): Promise<void> {
  const named = textOfFirstFew(rowNos.map(String), NAMED_ROWS);
  return raiseUndecided(tx, {
    kind: 'NAME_DIFFERS',
    ...aboutInstruction(work.instruction),
    subjectId: work.run.id,
    payments: rowNos.length,
    happened: 'The bank shows payments of this run under other names than they were sent with.',
    certain: `${ATTENTION_WORDS.NAME_DIFFERS.certain} Found first in row ${named}.`,
  });
}

/**
 * What the bank had shown before and does not show any more is another question than what it never showed; and another
 * again whether somebody else submitted it.
 */
function lackIn({ instruction, planned }: Work, reading: Lacking): Unseen {
  const before = instruction.status === 'VERIFIED';
  const about = aboutInstruction(instruction, planned);
  switch (reading.kind) {
    case 'fewer':
      return {
        ...about,
        happened: `${BEFORE_SUBMIT}payments the bank confirmed when they were added are not shown by it${before ? ' any more' : ''}.`,
        certain:
          'No submit of it is in the record. It goes on by itself once the bank shows every row, or is built again by TRY_AGAIN: what was added to it then lies where nobody submits.',
      };
    case 'wait':
      return {
        ...about,
        happened: `${BEFORE_SUBMIT}the bank shows the instruction as ${reading.bankStatus}${before ? ', though it was INITIATED before' : ''}: it cannot be submitted.`,
        certain:
          'Nothing of it was submitted. It goes on by itself once the bank shows it as INITIATED, or is built again by TRY_AGAIN.',
      };
    case 'unclear':
      return {
        ...about,
        happened: `${UNSENT_OR_NOT}: it shows ${shownUnclear(reading)}.`,
        certain:
          'No submit of it is in the record, and nothing more is sent for it. It goes on by itself once the bank shows that it was not submitted; TRY_AGAIN builds it again on the reference of the bank’s written word, as evidence, that nobody submitted it.',
        askBank: WAS_IT_SUBMITTED,
      };
  }
}

/** Rows whose add stayed unanswered and that the bank shows exactly once, as they were sent. */
async function adopt(
  tx: EmployerTransaction,
  instructionId: string,
  doubts: readonly PayableRow[],
  matched: ReadonlyMap<number, SeenPayment>,
): Promise<void> {
  const seen = doubts.flatMap((row) => {
    const payment = matched.get(row.rowNo);
    return payment ? [{ row, payment }] : [];
  });
  if (seen.length === 0) return;
  await tx.query(
    `UPDATE bank_payment b SET add_outcome = 'ADOPTED', bank_payment_id = a.bank_payment_id,
       bank_transaction_id = a.bank_transaction_id, bank_status = a.status, last_seen_at = clock_timestamp()
     FROM unnest($3::int[], $4::text[], $5::text[], $6::text[])
       AS a(row_no, bank_payment_id, bank_transaction_id, status)
     WHERE b.employer_id = $1 AND b.instruction_id = $2 AND b.row_no = a.row_no AND b.add_outcome = 'IN_DOUBT'`,
    [
      tx.employerId,
      instructionId,
      seen.map(({ row }) => row.rowNo),
      seen.map(({ payment }) => payment.bankPaymentId),
      seen.map(({ payment }) => payment.ids[1] ?? null),
      seen.map(({ payment }) => payment.status),
    ],
  );
}
