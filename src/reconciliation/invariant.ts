import { EmployerTransaction } from '../database/database';
import { PersonalData } from '../database/personal-data';

/** What a breach stops: every employer where it concerns money that has moved, otherwise its own. */
export type Scope = 'money moved' | 'internal';

/** Something that breaks an invariant. Ids are UUIDs; `found` counts rows, payments or entries. */
export interface Finding {
  /** What it is told of once: the run, the instruction, or the entry of an audit chain. */
  subjectId: string;
  payRunId: string | null;
  instructionId: string | null;
  found: number;
  /** What more can be said of it without personal data. */
  detail?: string;
}

/** What a pass over an invariant found. */
export interface Looked {
  broken: Finding[];
  /** Whether this pass looked at what was told once: where it did and found nothing, that is gone. */
  lookedAt: (told: Pick<Finding, 'subjectId' | 'payRunId'>) => boolean;
}

/** How far the invariants that are asserted in slices have got; kept from one pass to the next. */
export interface Position {
  /** The last run of the ring of current runs, and of the ring of older ones. */
  currentRun: string;
  olderRun: string;
  /** The last planned instruction whose rows were computed again. */
  rowsOfPlan: string;
  /** The last entry of the audit chain that was computed again, and its hash in hexadecimal. */
  auditSeq: string;
  auditHash: string;
  /** The same of the chain of the installation. */
  installationSeq: string;
  installationHash: string;
}

/** One pass over one employer. */
export interface Pass {
  /** Reads only, and only the employer; for an invariant of the installation, only what belongs to no employer. */
  readonly tx: EmployerTransaction;
  readonly personal: PersonalData;
  /** The runs of this pass. */
  readonly payRunIds: readonly string[];
  /** Moved forward by the invariants that are asserted in slices. */
  readonly position: Position;
}

/** Something that always holds, and how to find where it does not. */
export interface Invariant {
  /** Stable: it is what attentions and metrics call it. */
  readonly name: string;
  /** What holds, for people. */
  readonly sentence: string;
  readonly scope: Scope;
  /** Asserted over another part of the data in each pass, whatever its runs are. */
  readonly sliced: boolean;
  /** Asserted over what belongs to no employer; each employer is told of a breach. */
  readonly ofInstallation?: true;
  /** Everything that breaks it in this pass, told or not. */
  find(pass: Pass): Promise<Looked>;
  /** What the service can safely mend of what breaks it, beside telling it. */
  mend?(tx: EmployerTransaction, broken: readonly Finding[]): Promise<void>;
}

/** What was found in all the runs of a pass. */
export function inRuns(payRunIds: readonly string[], broken: Finding[]): Looked {
  const looked = new Set<string | null>(payRunIds);
  return { broken, lookedAt: ({ payRunId }) => looked.has(payRunId) };
}

/**
 * What the statements read: the runs of the pass ($2) of the employer ($1) and what belongs to them. Each table is
 * reached by a key, whatever history the employer has; what a statement does not name costs nothing.
 */
const STORED = `
  run AS (SELECT * FROM pay_run WHERE employer_id = $1 AND id = ANY ($2)),
  plan AS (SELECT * FROM planned_instruction WHERE employer_id = $1 AND pay_run_id = ANY ($2)),
  ins AS (SELECT * FROM instruction WHERE employer_id = $1 AND pay_run_id = ANY ($2)),
  version AS (SELECT * FROM pay_run_version WHERE employer_id = $1 AND pay_run_id = ANY ($2)),
  standing_approval AS (
    SELECT * FROM approval WHERE employer_id = $1 AND pay_run_id = ANY ($2) AND voided_at IS NULL),
  attempt AS (
    SELECT * FROM submit_attempt
    WHERE employer_id = $1 AND planned_instruction_id = ANY (ARRAY(SELECT id FROM plan))),
  standing AS (
    SELECT * FROM submit_attempt
    WHERE employer_id = $1 AND planned_instruction_id = ANY (ARRAY(SELECT id FROM plan))
      AND outcome IS DISTINCT FROM 'PROVEN_UNSENT'),
  at_bank AS (
    SELECT * FROM bank_payment WHERE employer_id = $1 AND instruction_id = ANY (ARRAY(SELECT id FROM ins))),
  call AS (
    SELECT * FROM bank_call WHERE employer_id = $1 AND instruction_id = ANY (ARRAY(SELECT id FROM ins))),
  added AS (
    SELECT instruction_id, unnest(row_nos) AS row_no FROM add_intent
    WHERE employer_id = $1 AND instruction_id = ANY (ARRAY(SELECT id FROM ins))),
  history AS (SELECT * FROM state_change WHERE employer_id = $1 AND pay_run_id = ANY ($2)),
  paid AS (SELECT * FROM payment WHERE employer_id = $1 AND pay_run_id = ANY ($2)),
  standing_plan AS (
    SELECT p.* FROM plan p JOIN run r ON r.id = p.pay_run_id AND r.run_version = p.run_version),
  planned_row AS (
    SELECT n.plan_id, m.*
    FROM (SELECT id AS plan_id, pay_run_id, generate_series(first_row, last_row) AS row_no FROM standing_plan) AS n
    JOIN paid m ON m.pay_run_id = n.pay_run_id AND m.row_no = n.row_no AND m.status NOT IN ('HELD', 'EXCLUDED')),
  live AS (SELECT * FROM ins WHERE status NOT IN ('ABANDONED', 'CANCELLED'))`;

interface Found {
  subject_id: string;
  pay_run_id: string;
  instruction_id: string | null;
  found: number;
}

/**
 * An invariant over everything stored of the runs of a pass. The statement answers what breaks it, as `pay_run_id`,
 * `instruction_id` (null where it is the run as a whole) and `found`; it may name the tables of `STORED`.
 */
export function inSql(
  of: Pick<Invariant, 'name' | 'sentence' | 'scope' | 'mend'>,
  breaking: string,
): Invariant {
  const sql = `WITH ${STORED}, broken (pay_run_id, instruction_id, found) AS (${breaking})
    SELECT coalesce(instruction_id, pay_run_id) AS subject_id, pay_run_id, instruction_id, sum(found)::int AS found
    FROM broken GROUP BY pay_run_id, instruction_id ORDER BY 1`;
  return {
    ...of,
    sliced: false,
    find: async ({ tx, payRunIds }) => {
      const rows = await tx.query<Found>(sql, [tx.employerId, payRunIds]);
      const broken = rows.map((row) => ({
        subjectId: row.subject_id,
        payRunId: row.pay_run_id,
        instructionId: row.instruction_id,
        found: row.found,
      }));
      return inRuns(payRunIds, broken);
    },
  };
}
