import { Injectable } from '@nestjs/common';
import { NotFound } from '../bank/errors';
import { Database, EmployerTransaction } from '../database/database';
import { wake } from '../database/leases';
import { PersonalData } from '../database/personal-data';
import { isPastSubmit } from '../domain/bank-status';
import { validateIban } from '../domain/iban';
import { accountsOf } from '../employer/account.store';
import { BankReads } from '../employer/bank-reads';
import { clear, raise } from '../pay-run/attention.store';
import { InstructionReader } from './read-back';
import { Forgotten, RestoreAdoption } from './restore-adoption';
import { readReference, shortId } from './prepared-calls';
import { Finding, happenedAfter } from './restore-words';
import type { Sweep, Unknown } from './restore-sweep';
import { tellUnrecorded } from './unrecorded-submits';
import { loadWork, Work } from './work';

/** What a restore was told as. */
export interface Restore {
  readonly id: string;
  readonly what: string;
}

/**
 * Holds one employer's record against the bank after a restore: every instruction that is not submitted is read again,
 * and what the general list shows beside them is looked for among the employer's runs and accounts.
 */
@Injectable()
export class RestoreCheck {
  /** The run as it was when its instruction at the bank was not taken over: asked again when it has moved. */
  private readonly refused = new Map<string, string>();

  constructor(
    private readonly database: Database,
    private readonly reads: BankReads,
    private readonly reader: InstructionReader,
    private readonly adoption: RestoreAdoption,
    private readonly personal: PersonalData,
  ) {}

  /**
   * Takes over what the bank proves, stops the runs of what it does not, tells people, and writes down that the bank
   * was read. May be repeated. @throws BankClientError while the bank cannot be read: nothing is passed then
   */
  async reconcile(employerId: string, restore: Restore, sweep: Sweep): Promise<void> {
    const findings = [
      ...(await this.movedOf(employerId)),
      ...(await this.database.inEmployer(employerId, (tx) => this.ownOf(tx, sweep.unknown))),
    ];
    const forgotten = findings.filter(({ submitted }) => submitted);
    await this.database.inEmployer(employerId, (tx) => keepForgotten(tx, restore, forgotten));
    for (const finding of forgotten) {
      const { payRunId } = finding;
      if (payRunId === null) continue;
      finding.refusal = await this.adoption.adopt(employerId, { ...finding, payRunId });
    }
    await this.database.inEmployer(employerId, async (tx) => {
      await stopRuns(tx, forgotten);
      await tellUnrecorded(
        tx,
        forgotten.flatMap(({ payRunId }) => payRunId ?? []),
      );
      await wakeFollowed(tx);
      await pass(tx, restore, sweep, findings);
    });
  }

  /**
   * Takes over what could not be taken over before its run moved: one that people approved again, as it was.
   * @throws BankClientError
   */
  async adoptWaiting(employerId: string): Promise<void> {
    const waiting = await this.database.inEmployer(employerId, waitingOf);
    for (const { key, ...forgotten } of waiting) {
      if (this.refused.get(forgotten.bankInstructionId) === key) continue;
      const refusal = await this.adoption.adopt(employerId, forgotten);
      if (refusal === undefined) this.refused.delete(forgotten.bankInstructionId);
      else this.refused.set(forgotten.bankInstructionId, key);
      await this.database.inEmployer(employerId, (tx) => tellUnrecorded(tx, [forgotten.payRunId]));
    }
  }

  /** Instructions the database has as not submitted, which the bank shows past their submit. */
  private async movedOf(employerId: string): Promise<Finding[]> {
    const moved: Finding[] = [];
    for (const work of await this.database.inEmployer(employerId, heldWork)) {
      const status = await this.statusOf(work);
      if (status === undefined || !isPastSubmit(status)) continue;
      const { instruction, run, planned } = work;
      moved.push({
        bankInstructionId: instruction.bankInstructionId ?? '',
        instructionId: instruction.id,
        payRunId: run.id,
        reference: undefined,
        status,
        submitted: true,
        payments: planned.rowCount,
        refusal: undefined,
      });
    }
    return moved;
  }

  private async statusOf(work: Work): Promise<string | undefined> {
    try {
      const shown = await this.reads.instruction(work.account, work.instruction.bankInstructionId ?? '');
      if (shown) return shown.status;
      return (await this.reader.somePaymentMoved(work)) ? 'SUBMITTED' : undefined;
    } catch (error) {
      if (error instanceof NotFound) return undefined;
      throw error;
    }
  }

  /** Those of the unknown that name a run or instruction of the transaction's employer, or debit its account. */
  private async ownOf(tx: EmployerTransaction, unknown: readonly Unknown[]): Promise<Finding[]> {
    if (unknown.length === 0) return [];
    const accounts = new Set((await accountsOf(tx)).map(({ ibanHash }) => ibanHash.toString('hex')));
    const own: Finding[] = [];
    for (const one of unknown) {
      const payRunId = await runOf(tx, one);
      const debtor = validateIban(one.debtorIban ?? '');
      const debits = debtor.ok && accounts.has(this.personal.hash(debtor.iban).toString('hex'));
      if (payRunId !== null || debits) own.push({ ...one, payRunId, refusal: undefined });
    }
    return own;
  }
}

async function heldWork(tx: EmployerTransaction): Promise<Work[]> {
  const held = await tx.query<{ id: string }>(
    `SELECT id FROM instruction
     WHERE employer_id = $1 AND status IN ('BUILDING', 'VERIFIED') AND bank_instruction_id IS NOT NULL ORDER BY id`,
    [tx.employerId],
  );
  const found: Work[] = [];
  for (const { id } of held) {
    const work = await loadWork(tx, id);
    if (work) found.push(work);
  }
  return found;
}

async function runOf(tx: EmployerTransaction, { reference, instructionId }: Unknown): Promise<string | null> {
  const named = readReference(reference ?? '')?.run;
  const [row] = await tx.query<{ id: string }>(
    `SELECT id FROM pay_run WHERE employer_id = $1 AND (left(replace(id::text, '-', ''), $4) = $2
       OR id = (SELECT pay_run_id FROM instruction WHERE employer_id = $1 AND id = $3)) LIMIT 1`,
    [tx.employerId, named ?? null, instructionId ?? null, shortId(tx.employerId).length],
  );
  return row?.id ?? null;
}

/** What was not taken over, of runs that may have moved since. */
async function waitingOf(tx: EmployerTransaction): Promise<(Forgotten & { key: string })[]> {
  const rows = await tx.query<{
    bank_instruction_id: string;
    instruction_id: string | null;
    pay_run_id: string;
    reference: string | null;
    revision: string;
  }>(
    `SELECT f.bank_instruction_id, f.instruction_id, f.pay_run_id, f.reference, r.revision
     FROM forgotten_instruction f
     JOIN pay_run r ON r.employer_id = f.employer_id AND r.id = f.pay_run_id
     WHERE f.employer_id = $1 AND f.adopted_at IS NULL AND r.status IN ('APPROVED', 'BUILDING', 'VERIFIED', 'SUBMITTING')
     ORDER BY f.found_at, f.bank_instruction_id`,
    [tx.employerId],
  );
  return rows.map((row) => ({
    bankInstructionId: row.bank_instruction_id,
    instructionId: row.instruction_id ?? undefined,
    payRunId: row.pay_run_id,
    reference: row.reference ?? undefined,
    key: row.revision,
  }));
}

/** From here on nothing more of their runs is submitted, until they are adopted. */
async function keepForgotten(
  tx: EmployerTransaction,
  restore: Restore,
  forgotten: readonly Finding[],
): Promise<void> {
  await tx.query(
    `INSERT INTO forgotten_instruction (employer_id, bank_instruction_id, restore_id, pay_run_id, bank_status,
       instruction_id, reference)
     SELECT $1, f.bank_instruction_id, $2, f.pay_run_id, f.status, f.instruction_id, f.reference
     FROM unnest($3::text[], $4::uuid[], $5::text[], $6::uuid[], $7::text[])
       AS f(bank_instruction_id, pay_run_id, status, instruction_id, reference)
     ON CONFLICT DO NOTHING`,
    [
      tx.employerId,
      restore.id,
      forgotten.map(({ bankInstructionId }) => bankInstructionId),
      forgotten.map(({ payRunId }) => payRunId),
      forgotten.map(({ status }) => status),
      forgotten.map(({ instructionId }) => instructionId ?? null),
      forgotten.map(({ reference }) => reference ?? null),
    ],
  );
}

/** Runs of which something submitted could not be taken back into the record. */
async function stopRuns(tx: EmployerTransaction, forgotten: readonly Finding[]): Promise<void> {
  const refused = forgotten.filter(({ refusal }) => refusal !== undefined);
  await tx.query(
    `UPDATE pay_run SET stopped_at = clock_timestamp(), stopped_reason = 'RESTORED'
     WHERE employer_id = $1 AND id = ANY ($2) AND stopped_at IS NULL`,
    [tx.employerId, refused.flatMap(({ payRunId }) => payRunId ?? [])],
  );
}

/** What was submitted, given up or is in doubt is read again at once, by those who follow it. */
async function wakeFollowed(tx: EmployerTransaction): Promise<void> {
  const rows = await tx.query<{ id: string; status: string }>(
    `SELECT id, status FROM instruction WHERE employer_id = $1
       AND (status IN ('SUBMITTED', 'SUBMIT_INTENT', 'SUBMIT_UNKNOWN', 'SUBMIT_REFUSED')
         OR status IN ('ABANDONED', 'RELEASED', 'VOID') AND created_at > clock_timestamp() - interval '30 days')`,
    [tx.employerId],
  );
  const inDoubt = rows.filter(({ status }) => status.startsWith('SUBMIT_'));
  const followed = rows.filter(({ status }) => !status.startsWith('SUBMIT_'));
  wake(
    tx,
    'INSTRUCTION',
    tx.employerId,
    inDoubt.map(({ id }) => id),
  );
  wake(
    tx,
    'FOLLOW',
    tx.employerId,
    followed.map(({ id }) => id),
  );
}

/** The bank was read: the question to people is asked anew, with what it shows. */
async function pass(
  tx: EmployerTransaction,
  restore: Restore,
  sweep: Sweep,
  findings: readonly Finding[],
): Promise<void> {
  const needsEvidence = !sweep.readable || sweep.unidentified > 0;
  const passed = await tx.query(
    `UPDATE restore_check SET passed_at = clock_timestamp(), needs_evidence = $3
     WHERE employer_id = $1 AND restore_id = $2 AND passed_at IS NULL RETURNING restore_id`,
    [tx.employerId, restore.id, needsEvidence],
  );
  if (passed.length === 0) return;
  await clear(tx, ['RESTORED'], restore.id, 'the bank was read; what it shows is in the next question');
  await raise(tx, {
    kind: 'RESTORED',
    subjectId: restore.id,
    happened: happenedAfter(restore.what, sweep, findings),
    payments: findings.reduce((sum, { submitted, payments }) => sum + (submitted ? payments : 0), 0),
  });
}
