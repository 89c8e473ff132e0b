import { Injectable } from '@nestjs/common';
import { Database, EmployerTransaction } from '../database/database';
import { PersonalData } from '../database/personal-data';
import { employerIds } from '../database/worker-ids';
import { isBeforeSubmit } from '../domain/bank-status';
import { validateIban } from '../domain/iban';
import { accountsOf } from '../employer/account.store';
import { readReference, shortId } from '../submission/prepared-calls';
import { isListWhole, type Sweep, type Unknown } from './restore-sweep';
import { keepForgotten } from './forgotten-instructions';
import { lockAwaited } from './restore-fence';
import { type Finding, isKept } from './restore-words';

/** What the database does not know, by whose it is. */
export interface Owned {
  /** By the id of an employer; those to whom nothing belongs are not in it. */
  byEmployer: ReadonlyMap<string, Finding[]>;
  /** Instructions of this service of which no employer's record says that they are its own. */
  ownerless: Unknown[];
}

/** Asks every employer's record whose the instructions are that a restored database has forgotten. */
@Injectable()
export class RestoreOwners {
  constructor(
    private readonly database: Database,
    private readonly personal: PersonalData,
  ) {}

  /** Also those are asked who have nothing left to decide: what is theirs is nobody else's doubt. */
  async of(unknown: readonly Unknown[]): Promise<Owned> {
    const byEmployer = new Map<string, Finding[]>();
    if (unknown.length === 0) return { byEmployer, ownerless: [] };
    for await (const employerId of employerIds(this.database)) {
      const own = await this.database.inEmployer(employerId, (tx) => this.ownOf(tx, unknown));
      if (own.length > 0) byEmployer.set(employerId, own);
    }
    const owned = new Set([...byEmployer.values()].flat().map((one) => one.bankInstructionId));
    return { byEmployer, ownerless: unknown.filter((one) => !owned.has(one.bankInstructionId)) };
  }

  /**
   * Keeps of each employer what may have been submitted, as the bank may show it no more; and what of that is of no run in any
   * record, with whose account it debits and when, for employers that are made later; and, of nobody's record, what the bank
   * shows as before its submit, which may be queued: no check of an employer deletes that. And that the list shows what is not
   * submitted, before any check deletes what showed it.
   */
  async keepForgotten(restoreId: string, sweep: Sweep, { byEmployer, ownerless }: Owned): Promise<void> {
    const { unknown, unidentified } = sweep;
    const ofRuns = [...byEmployer.values()].flat().filter(({ payRunId }) => payRunId !== null);
    const recorded = new Set(ofRuns.map(({ bankInstructionId }) => bankInstructionId));
    const nobodys = new Set(ownerless.map(({ bankInstructionId }) => bankInstructionId));
    const mayBeQueued = ({ bankInstructionId, status }: Unknown): boolean =>
      nobodys.has(bankInstructionId) && isBeforeSubmit(status);
    const debits = unknown
      .filter((one) => one.submitted || one.isUnclear || mayBeQueued(one))
      .filter(({ bankInstructionId }) => !recorded.has(bankInstructionId))
      .map(({ bankInstructionId, debtorIban, executionDate }) => ({
        bankInstructionId,
        hash: this.hashOf(debtorIban),
        executionDate,
      }));
    for (const bankInstructionId of unidentified)
      debits.push({ bankInstructionId, hash: undefined, executionDate: undefined });
    for (const [employerId, own] of byEmployer)
      await this.database.inEmployer(employerId, async (tx) => {
        if (await lockAwaited(tx, { id: restoreId })) await keepForgotten(tx, restoreId, own.filter(isKept));
      });
    await this.database.outsideEmployers(async (tx) => {
      await tx.query(
        `INSERT INTO forgotten_debit (restore_id, bank_instruction_id, debtor_hash, execution_date)
         SELECT $1, d.bank_instruction_id, d.debtor_hash, d.execution_date
         FROM unnest($2::text[], $3::bytea[], $4::date[]) AS d(bank_instruction_id, debtor_hash, execution_date)
         ON CONFLICT DO NOTHING`,
        [
          restoreId,
          debits.map((one) => one.bankInstructionId),
          debits.map(({ hash }) => hash ?? null),
          debits.map(({ executionDate }) => executionDate ?? null),
        ],
      );
      if (sweep.showsUnsubmitted)
        await tx.query(
          `UPDATE database_restore SET unsubmitted_shown_at = clock_timestamp()
           WHERE id = $1 AND unsubmitted_shown_at IS NULL`,
          [restoreId],
        );
      if (isListWhole(sweep))
        await tx.query(
          'UPDATE database_restore SET bank_read_at = clock_timestamp() WHERE id = $1 AND bank_read_at IS NULL',
          [restoreId],
        );
    });
  }

  private hashOf(iban: string | undefined): Buffer | undefined {
    const valid = validateIban(iban ?? '');
    return valid.ok ? this.personal.hash(valid.iban) : undefined;
  }

  /** Those of the unknown that name a run or instruction of the transaction's employer, or debit its account. */
  private async ownOf(tx: EmployerTransaction, unknown: readonly Unknown[]): Promise<Finding[]> {
    const accounts = new Set((await accountsOf(tx)).map(({ ibanHash }) => ibanHash.toString('hex')));
    const own: Finding[] = [];
    for (const one of unknown) {
      const payRunId = await runOf(tx, one);
      const debits = accounts.has(this.hashOf(one.debtorIban)?.toString('hex') ?? '');
      if (payRunId !== null || debits) own.push({ ...one, payRunId, refusal: undefined });
    }
    return own;
  }
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
