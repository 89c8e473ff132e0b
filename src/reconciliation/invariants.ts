import { INSTALLATION_CHAIN } from '../audit/audit';
import { CHAIN_START, ChainPosition, verifySlice } from '../audit/verify-chain';
import { Transaction } from '../database/database';
import { BEFORE_ALL } from '../database/new-id';
import { words } from '../database/words';
import { NOTHING } from '../domain/reconciliation';
import {
  approvedFields,
  approvedTerms,
  StoredDebtor,
  StoredFields,
  StoredTerms,
} from '../pay-run/approved-fields';
import { rootHash, rowHash } from '../pay-run/run-hash';
import { readAggregates } from './aggregates';
import { FOLLOWING_INVARIANTS } from './following-invariants';
import { Finding, inRuns, Invariant, Looked, Pass } from './invariant';
import { MONEY_INVARIANTS } from './money-invariants';
import { APPROVED, RECORD_INVARIANTS } from './record-invariants';
import { drawUp, ReportLine } from './report';

/** Entries of the audit chain computed in one pass: 20 ms of hashing, and a chain of years is gone through in hours. */
const AUDIT_ENTRIES = 5_000;

/** Rows computed again in one pass: some 100 ms and 2 MB. */
const HASHED_ROWS = 5_000;

/** Everything that is asserted: the protocol's invariants over the stored state, without a call to the bank. */
export const INVARIANTS: readonly Invariant[] = [
  ...MONEY_INVARIANTS,
  ...RECORD_INVARIANTS,
  ...FOLLOWING_INVARIANTS,
  {
    name: 'conservation',
    sentence:
      'File = run + held + excluded; run = its planned instructions = their live ones; bank = settled + failed + in flight.',
    scope: 'internal',
    sliced: false,
    find: notConserved,
  },
  {
    name: 'approved-root-is-whole',
    sentence:
      'The root hash of an approved run is that of its terms, its account and the hashes of its instructions.',
    scope: 'internal',
    sliced: false,
    find: otherRoots,
  },
  {
    name: 'rows-as-approved',
    sentence: 'A submitted row is, field by field, the row whose hash was approved.',
    scope: 'internal',
    sliced: true,
    find: changedRows,
  },
  {
    name: 'audit-chain',
    sentence: 'No entry of the audit chain was changed, taken out, put in or cut off.',
    scope: 'internal',
    sliced: true,
    find: brokenChain,
  },
  {
    name: 'installation-audit-chain',
    sentence:
      'No entry of the audit chain of the installation was changed, taken out, put in or cut off; each employer is told.',
    scope: 'internal',
    sliced: true,
    ofInstallation: true,
    find: brokenInstallationChain,
  },
];

async function notConserved({ tx, payRunIds }: Pass): Promise<Looked> {
  const findings: Finding[] = [];
  for (const [payRunId, aggregates] of await readAggregates(tx, payRunIds)) {
    // What moved though it was given up was told where it was seen, and two people decided it: this would stop all again.
    const { lines, contradictions, difference, explained } = drawUp({ ...aggregates, givenUpMoved: NOTHING });
    if (explained) continue;
    const names = lines.filter(differs).map(({ name }) => name);
    findings.push({
      subjectId: payRunId,
      payRunId,
      instructionId: null,
      found: Math.max(difference.count + contradictions.count, 1),
      detail: names.length > 0 ? `lines ${names.join(', ')}` : 'rows contradict the bank',
    });
  }
  return inRuns(payRunIds, findings);
}

function differs({ differenceCount, differenceMinor }: ReportLine): boolean {
  return differenceCount !== 0 || differenceMinor !== 0n;
}

interface HashedRun extends Omit<StoredTerms, 'totalMinor'>, StoredDebtor {
  totalMinor: string;
  rootHash: Buffer | null;
  /** Of the instructions of its standing version, in order. */
  rowHashes: Buffer[];
}

const TERMS = `
  SELECT r.id, r.run_version AS "runVersion", r.root_hash AS "rootHash", r.execution_date::text AS "executionDate", r.currency,
    r.row_count AS "rowCount", r.total_minor AS "totalMinor", a.debtor_name AS "debtorName", a.iban_sealed AS "ibanSealed",
    a.bank_account_id AS "bankAccountId", coalesce(p.row_hashes, '{}') AS "rowHashes"
  FROM pay_run r
  JOIN employer_account a ON a.employer_id = r.employer_id AND a.id = r.account_id
  LEFT JOIN (
    SELECT pay_run_id, run_version, array_agg(row_hash ORDER BY ordinal) AS row_hashes
    FROM planned_instruction WHERE employer_id = $1 AND pay_run_id = ANY ($2) GROUP BY pay_run_id, run_version) p
    ON p.pay_run_id = r.id AND p.run_version = r.run_version
  WHERE r.employer_id = $1 AND r.id = ANY ($2) AND r.status IN (${words(APPROVED)}) ORDER BY r.id`;

/** What was approved is one hash over everything: whoever makes the hashes below it anew does not have that one. */
async function otherRoots({ tx, personal, payRunIds }: Pass): Promise<Looked> {
  const runs = await tx.query<HashedRun>(TERMS, [tx.employerId, payRunIds]);
  const rootOf = (run: HashedRun): Buffer =>
    rootHash(approvedTerms(personal, { ...run, totalMinor: BigInt(run.totalMinor) }, run), run.rowHashes);
  const broken = runs
    .filter((run) => run.rootHash?.equals(rootOf(run)) !== true)
    .map(({ id }) => ({ subjectId: id, payRunId: id, instructionId: null, found: 1 }));
  return inRuns(payRunIds, broken);
}

interface HashedRow extends StoredFields {
  plan_id: string;
  pay_run_id: string;
  instruction_id: string;
  row_hash: Buffer;
}

/**
 * The next submitted instructions of the employer, oldest first and round again; at least one. Their rows are looked up by
 * the key, where a hash join would read every payment of the employer.
 */
const HASHED = `
  WITH submitted AS (
    SELECT p.*, s.instruction_id, sum(p.row_count) OVER (ORDER BY p.id <= $2, p.id) - p.row_count AS before
    FROM planned_instruction p
    JOIN submit_attempt s ON s.employer_id = p.employer_id AND s.planned_instruction_id = p.id
      AND s.outcome IS DISTINCT FROM 'PROVEN_UNSENT'
    WHERE p.employer_id = $1),
  slice AS (SELECT * FROM submitted WHERE before < ${HASHED_ROWS})
  SELECT p.id AS plan_id, p.pay_run_id, p.instruction_id, m.employee_id, m.name_sealed, m.iban_sealed, m.bic,
    m.amount_minor, m.currency, m.remittance, m.replaces_payment_id, m.row_hash
  FROM slice p
  CROSS JOIN LATERAL (
    SELECT * FROM payment WHERE employer_id = $1 AND pay_run_id = p.pay_run_id
      AND row_no BETWEEN p.first_row AND p.last_row AND status NOT IN ('HELD', 'EXCLUDED') OFFSET 0) m
  ORDER BY p.id <= $2, p.id`;

/** What is stored of each row is hashed again: an edited amount or account shows, whatever hash lies beside it. */
async function changedRows({ tx, personal, position }: Pass): Promise<Looked> {
  const rows = await tx.query<HashedRow>(HASHED, [tx.employerId, position.rowsOfPlan]);
  position.rowsOfPlan = rows.at(-1)?.plan_id ?? BEFORE_ALL;
  const changed = new Map<string, Finding>();
  for (const row of rows) {
    const now = rowHash(approvedFields(personal, row));
    if (now.equals(row.row_hash)) continue;
    const { instruction_id: instructionId, pay_run_id: payRunId } = row;
    const found = (changed.get(instructionId)?.found ?? 0) + 1;
    changed.set(instructionId, { subjectId: instructionId, payRunId, instructionId, found });
  }
  const looked = new Set(rows.map((row) => row.instruction_id));
  return { broken: [...changed.values()], lookedAt: ({ subjectId }) => looked.has(subjectId) };
}

async function brokenChain({ tx, position }: Pass): Promise<Looked> {
  const from = positionOf(position.auditSeq, position.auditHash);
  const { next, looked } = await brokenIn(tx, tx.employerId, from);
  [position.auditSeq, position.auditHash] = textsOf(next);
  return looked;
}

async function brokenInstallationChain({ tx, position }: Pass): Promise<Looked> {
  const from = positionOf(position.installationSeq, position.installationHash);
  const { next, looked } = await brokenIn(tx, INSTALLATION_CHAIN, from);
  [position.installationSeq, position.installationHash] = textsOf(next);
  return looked;
}

function positionOf(seq: string, hash: string): ChainPosition {
  return hash === '' ? CHAIN_START : { seq: BigInt(seq), hash: Buffer.from(hash, 'hex') };
}

function textsOf({ seq, hash }: ChainPosition): [seq: string, hash: string] {
  return [seq.toString(), seq === 0n ? '' : hash.toString('hex')];
}

async function brokenIn(
  tx: Transaction,
  chainId: string,
  from: ChainPosition,
): Promise<{ next: ChainPosition; looked: Looked }> {
  const { breaks, next } = await verifySlice(tx, chainId, from, AUDIT_ENTRIES);
  const broken = breaks.map(({ at, entries: found }) => {
    return { subjectId: idOfEntry(at), payRunId: null, instructionId: null, found, detail: `at entry ${at}` };
  });
  // The last slice looks at what is beyond the head, too.
  const last = next.seq === 0n ? AFTER_ALL : idOfEntry(next.seq);
  const first = idOfEntry(from.seq);
  return { next, looked: { broken, lookedAt: ({ subjectId: id }) => id > first && id <= last } };
}

/** After every entry of a chain. */
const AFTER_ALL = 'f';

/** An entry of a chain has no id of its own: its number, as one. Ids are in the order of the numbers. */
function idOfEntry(seq: bigint): string {
  return `${BEFORE_ALL.slice(0, -12)}${seq.toString(16).padStart(12, '0')}`;
}
