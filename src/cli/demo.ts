import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAxiosError } from 'axios';
import { runMigrations } from '../database/migrate';
import { startTemporaryServer } from '../database/temporary-server';
import { earliestExecutionDate, localDate, periodOf } from '../domain/business-day';
import { isPayRunFinal } from '../domain/pay-run';
import type { PayFileFault } from '../pay-file/pay-file-fault';
import type { UploadAnswer } from '../pay-file/upload-answer';
import type { RunDocument } from '../pay-run/pay-run.dto';
import { Api, Refused } from './api';
import { Child } from './child';
import { DEMO_BANK, demoBankSettings, demoServiceSettings } from './demo-settings';
import { Portal } from './portal';
import { COMPANY, ensureEmployer, ensureStaff, StaffKeys } from './seed';
import { keepService } from './kept-service';
import { onStage, Stage, startBank } from './stage';
import { Output, ProgressBar, table } from './terminal';

/** The run takes a few seconds; on a busy machine several times that. */
const RUN_TIMEOUT_MS = 90_000;
const POLL_MS = 150;
/** A date is chosen so that the cut-off is not met in the middle of the demo. */
const TIME_IN_HAND_MS = 10 * 60_000;

/** How the demo runs. */
export interface DemoOptions {
  /** The checkout, whose samples are uploaded. */
  readonly checkout: string;
  readonly output: Output;
  /** Without the pauses between the bank's statuses that let a person see them. */
  readonly fast: boolean;
}

/** The demo did not end as it must; the message says what happened instead. */
export class DemoFailed extends Error {}

/** What the steps of the story share. */
interface Scene {
  readonly options: DemoOptions;
  readonly say: (line?: string) => void;
  readonly portal: Portal;
  readonly employerId: string;
  readonly as: (role: keyof StaffKeys) => Api;
  readonly executionDate: string;
  readonly period: string;
}

/**
 * Pays a month's salaries from file to reconciliation, on an empty database and a fresh sandbox that are gone
 * afterwards.
 * @throws DemoFailed, Interrupted, or what kept something from starting
 */
export function demo(options: DemoOptions): Promise<void> {
  return onStage(async (stage) => {
    let service: Child | undefined;
    try {
      const scene = await setUp(stage, options, (started) => (service = started));
      await refuseDefects(scene);
      const uploaded = await upload(scene);
      await approve(scene, uploaded);
      await follow(scene, uploaded.id);
      await reconcile(scene, uploaded);
    } catch (error) {
      const lines = service?.lastLines() ?? '';
      if (lines !== '') options.output.write(`\nThe service said:\n${lines}\n`);
      throw error;
    }
  });
}

async function setUp(stage: Stage, options: DemoOptions, started: (service: Child) => void): Promise<Scene> {
  const say = (line = '') => void options.output.write(`${line}\n`);
  let open = true;
  void stage.closing.then(() => (open = false));
  say('Starting, all of it on this machine:');
  const database = await stage.own(startTemporaryServer());
  await runMigrations(database.databaseAdminUrl);
  say(`  database  ${database.describe}`);
  const bank = await stage.own(startBank(demoBankSettings(options.fast)));
  say(`  bank      the sandbox at ${bank.url}, where no money is real`);
  const restarted = (how: string) => say(`  ${how} It is started again.`);
  const service = await stage.own(
    keepService(demoServiceSettings(database.databaseUrl, bank.url), restarted),
  );
  started(service);
  say(`  Payrun    ${service.url}/docs`);
  const keys = await untilHeard(
    () => open,
    () => ensureStaff(database.databaseUrl, service.url, {}),
  );
  const portal = new Portal(bank.url);
  const account = await portal.accountOf(COMPANY);
  const { employerId, notReady } = await untilHeard(
    () => open,
    () => ensureEmployer(service.url, keys, account),
  );
  if (notReady.length > 0) throw new Error(`The account is not ready: ${notReady.join('; ')}`);
  say(`  employer  ${COMPANY}, with EUR ${account.balance} at the bank, and its people with their keys`);
  const now = new Date(Date.now() + TIME_IN_HAND_MS);
  return {
    options,
    say,
    portal,
    employerId,
    as: (role) => new Api(service.url, keys[role], () => open),
    executionDate: earliestExecutionDate(now, DEMO_BANK),
    period: periodOf(localDate(new Date(), DEMO_BANK.timeZone)),
  };
}

/** Repeats what may be repeated while the service is being started again. */
async function untilHeard<T>(open: () => boolean, work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!open() || !isAxiosError(error) || error.response !== undefined) throw error;
      await sleep(POLL_MS);
    }
  }
}

function uploadSample(scene: Scene, name: string): Promise<UploadAnswer> {
  const { options, employerId, executionDate, period } = scene;
  const fields = { period, executionDate, submitAt: new Date().toISOString(), fileName: name };
  return readFile(join(options.checkout, 'samples', name)).then((content) =>
    scene.as('preparer').uploadPayFile(employerId, content, fields),
  );
}

/** What the service must refuse. @throws DemoFailed when it does not, or for another reason */
async function refusalOf(work: Promise<unknown>, code: string): Promise<Refused> {
  try {
    await work;
  } catch (error) {
    if (error instanceof Refused && error.code === code) return error;
    throw error;
  }
  throw new DemoFailed(`What should have been refused with ${code} was taken.`);
}

async function refuseDefects(scene: Scene): Promise<void> {
  const { say } = scene;
  say('\n1. The preparer uploads samples/many-defects.csv. It is refused as a whole:\n');
  const { problem } = await refusalOf(uploadSample(scene, 'many-defects.csv'), 'PAY_FILE_REFUSED');
  const faults = (problem['faults'] ?? []) as PayFileFault[];
  const rows = faults.map(({ line, column, code, remedy }) => [String(line), column ?? '', code, remedy]);
  table(['line', 'column', 'code', 'how to mend it'], rows, [0]).forEach((line) => say(line));
  if (faults.length === 0) throw new DemoFailed('The refusal names no fault.');
}

async function upload(scene: Scene): Promise<UploadAnswer> {
  const { say } = scene;
  say('\n2. The preparer uploads samples/payroll-250.csv, which has no fault:\n');
  const uploaded = await uploadSample(scene, 'payroll-250.csv');
  const { payments, total, period, executionDate, rootHash, namesChanged } = uploaded;
  say(`  ${payments} salaries, EUR ${total}, for ${period}, to be paid on ${executionDate}`);
  const [example] = namesChanged.examples;
  if (example) {
    say(`  ${namesChanged.count} names are written in the bank's letters, such as ${example.after}`);
  }
  say(`  the hash of all rows: ${rootHash}`);
  return uploaded;
}

async function approve(scene: Scene, { id, rootHash, total }: UploadAnswer): Promise<void> {
  const { say, employerId } = scene;
  const preparer = scene.as('preparer');
  const { person } = await preparer.whoami();
  await scene.as('administrator').grantRole(employerId, person.id, 'approver');
  say('\n3. The preparer, who may approve what others prepare, tries to approve it:\n');
  const refusal = await refusalOf(
    preparer.approve(employerId, id, { rootHash, total }),
    'APPROVER_IS_PREPARER',
  );
  say(`  refused: ${refusal.message}`);
  say('\n4. The approver looks at the new IBANs, then approves exactly this hash and total:\n');
  const approver = scene.as('approver');
  const { comparison } = await approver.run(employerId, id);
  await approver.tickAllIbans(employerId, id, rootHash, 'the first run of the demo');
  say(
    `  ${comparison.ibans.toTick} IBANs are new, as in every first run: one decision on all, with a reason`,
  );
  const approved = await approvedOnce(approver, employerId, id, { rootHash, total });
  say(`  ${approved.status}, in ${approved.instructions.length} instructions of at most 100 payments each`);
}

/** An approval whose answer a kill swallowed was given all the same: the run is no longer READY. */
async function approvedOnce(
  approver: Api,
  employerId: string,
  runId: string,
  seen: { rootHash: string; total: string },
): Promise<RunDocument> {
  try {
    return await approver.approve(employerId, runId, seen);
  } catch (error) {
    if (!(error instanceof Refused) || error.code !== 'NOT_AWAITING_APPROVAL') throw error;
    return approver.run(employerId, runId);
  }
}

/** Shows how far the run has come until it ends. @throws DemoFailed when it does not, or needs a person */
async function follow(scene: Scene, runId: string): Promise<void> {
  const { say, employerId, executionDate, portal } = scene;
  say('\n5. Built at the bank, checked there row by row, then submitted, each instruction once:\n');
  const bar = new ProgressBar(scene.options.output);
  const deadline = Date.now() + RUN_TIMEOUT_MS;
  for (;;) {
    const run = await scene.as('finance').run(employerId, runId);
    bar.show(countsOf(run));
    if (isPayRunFinal(run.status)) return bar.end();
    await assertUndisturbed(scene, run, deadline).catch((error: unknown) => {
      bar.end();
      throw error;
    });
    if (run.status === 'FOLLOWING' && (await portal.date()) < executionDate) {
      bar.end();
      say(`  The bank pays on ${executionDate}: its clock is put forward to that day.`);
      await portal.passTo(executionDate);
    }
    await sleep(POLL_MS);
  }
}

async function assertUndisturbed(scene: Scene, run: RunDocument, deadline: number): Promise<void> {
  if (run.openAttentions > 0) {
    const open = await scene.as('operator').attentions(scene.employerId);
    const words = open.map(({ kind, happened }) => `${kind}: ${happened}`);
    throw new DemoFailed(`The run needs a person. ${words.join(' ')}`);
  }
  if (run.status === 'READY') throw new DemoFailed(`The approval lapsed: ${run.lapseReason ?? 'no reason'}.`);
  if (Date.now() > deadline)
    throw new DemoFailed(`The run is still ${run.status} after ${RUN_TIMEOUT_MS} ms.`);
}

function countsOf(run: RunDocument): Record<string, number> {
  const counts = Object.entries(run.paymentsByStatus);
  return Object.fromEntries(counts.map(([status, { payments }]) => [status, payments]));
}

async function reconcile(scene: Scene, uploaded: UploadAnswer): Promise<void> {
  const { say, employerId } = scene;
  say('\n6. Finance reconciles the file, the approved run and the bank:\n');
  const report = await scene.as('finance').reconciliation(employerId, uploaded.id);
  const lines = (['uploaded', 'approved', 'atBank', 'settled', 'notPaid', 'inFlight'] as const).map(
    (name) => {
      const { payments, amount } = report.table[name];
      return [LINE_WORDS[name], String(payments), amount];
    },
  );
  const rows = [...lines, ['difference', '', report.difference]];
  table(['', 'payments', 'EUR'], rows, [1, 2]).forEach((line) => say(line));
  const { settled } = report.table;
  const everything = settled.payments === uploaded.payments && settled.amount === uploaded.total;
  if (report.status !== 'SETTLED' || !report.explained || !everything) {
    throw new DemoFailed(`The run is ${report.status}, ${settled.payments} settled of ${uploaded.payments}.`);
  }
  say(`\n${settled.payments} settled, difference ${report.difference}`);
}

const LINE_WORDS = {
  uploaded: 'uploaded',
  approved: 'approved',
  atBank: 'at the bank',
  settled: 'settled',
  notPaid: 'not paid',
  inFlight: 'in flight',
} as const;
