import { readById } from '../database/by-id';
import { EmployerTransaction } from '../database/database';
import { wake } from '../database/leases';
import { sumMinor } from '../domain/money';
import { EmployerAccount } from '../employer/employer.entity';
import { readId, showId } from '../http/prefixed-id';
import { aboutInstruction, Alarm, isDecided, openText, raise, raiseAnew } from './attention.store';
import { Instruction } from './instruction.entity';
import { PayRun } from './pay-run.entity';
import { awaitTurnOfEmployer, stopEmployer } from './stop';
import { unsentOf } from './unsent';

/** The bank refuses our access: nothing more is sent for the employer, and a person is told. */
export async function accessRefused(
  tx: EmployerTransaction,
  run: PayRun,
  instruction: Instruction | undefined,
  happened: string,
): Promise<void> {
  await stopEmployer(tx, 'CREDENTIALS');
  await raise(tx, await refusalOf(tx, run, instruction, happened));
}

const HIDDEN = 'The bank refuses to show what became of submitted payments of ';

/**
 * The bank refuses to show what a run has submitted, at every read as long as it lasts: as above, unless it is decided of
 * that refusal. All such runs are one question, told anew while it is open, so that who resumes has read of each.
 */
export async function hiddenFromUs(
  tx: EmployerTransaction,
  run: PayRun,
  instruction: Instruction,
  refusal: string,
): Promise<void> {
  const asked = { kind: 'CREDENTIALS', subjectId: tx.employerId, happened: HIDDEN } as const;
  const words = [HIDDEN, showId('run', run.id)];
  if (await isDecided(tx, asked, [...words, refusal])) return;
  await awaitTurnOfEmployer(tx);
  // Two people may have decided it while this waited for its turn.
  if (await isDecided(tx, asked, [...words, refusal])) return;
  await stopEmployer(tx, 'CREDENTIALS');
  const open = await openText(tx, asked);
  if (words.every((word) => open?.includes(word))) return;
  await raiseAnew(tx, await hiddenBeside(tx, open ?? '', run, instruction, refusal));
  // What else is hidden is then told before people resume, and does not stop them once more.
  if (open?.includes(HIDDEN) !== true) await lookAtSubmitted(tx, instruction.id);
}

/** What is told of a run that is hidden, beside what the open question tells: of other such runs, or of another refusal. */
async function hiddenBeside(
  tx: EmployerTransaction,
  open: string,
  run: PayRun,
  instruction: Instruction,
  refusal: string,
): Promise<Alarm> {
  const [before = '', hidden = ''] = open.split(HIDDEN);
  const names = [...new Set([...(hidden.match(/run_[0-9a-f]{32}/g) ?? []), showId('run', run.id)])];
  const happened = `${before}${before === '' || before.endsWith(' ') ? '' : ' '}${HIDDEN}${names.join(', ')}: ${refusal}.`;
  if (names.length === 1) return refusalOf(tx, run, instruction, happened);
  const alarms = [];
  for (const name of names) {
    const one = await readById(tx, PayRun, readId('run', name));
    alarms.push(await refusalOf(tx, one, one.id === run.id ? instruction : undefined, happened));
  }
  return {
    kind: 'CREDENTIALS',
    subjectId: tx.employerId,
    // The first keeps what is open about it.
    payRunId: alarms[0]?.payRunId,
    bankReference: [...new Set(alarms.map(({ bankReference }) => bankReference))].join(', '),
    happened,
    payments: alarms.reduce((sum, { payments = 0 }) => sum + payments, 0),
    amountMinor: sumMinor(alarms.map(({ amountMinor = 0n }) => amountMinor)),
  };
}

/** Has what else is submitted for the employer be read now. */
async function lookAtSubmitted(tx: EmployerTransaction, instructionId: string): Promise<void> {
  const others = await tx.query<{ id: string }>(
    `SELECT id FROM instruction WHERE employer_id = $1 AND status = 'SUBMITTED' AND id <> $2`,
    [tx.employerId, instructionId],
  );
  wake(
    tx,
    'FOLLOW',
    tx.employerId,
    others.map(({ id }) => id),
  );
}

/** It holds up what of a run that is being submitted no submit left for, and what the refusal is about; of any other, all. */
async function refusalOf(
  tx: EmployerTransaction,
  run: PayRun,
  instruction: Instruction | undefined,
  happened: string,
): Promise<Alarm> {
  const { bankAccountId } = await readById(tx, EmployerAccount, run.accountId);
  const all = { payments: run.rowCount, amountMinor: run.totalMinor };
  return {
    kind: 'CREDENTIALS',
    ...(instruction && aboutInstruction(instruction)),
    bankReference: bankAccountId,
    subjectId: tx.employerId,
    payRunId: run.id,
    happened,
    ...(run.status === 'SUBMITTING' ? await unsentOf(tx, run, instruction?.id) : all),
  };
}
