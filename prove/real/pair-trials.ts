import { setTimeout as sleep } from 'node:timers/promises';
import type { AxiosResponse } from 'axios';
import { payFile, type Row } from '../../test/support/pay-rows';
import { eventually } from '../../test/support/eventually';
import { paidWithoutIt } from './refused-row-trials';
import type { Stand } from './stand';
import type { Trial } from './trial';

/** The second button is pressed so long after the first. */
const RACES_MS = [-20, 0, 20] as const;
const reason = 'pressed in the proof';
const BOTH_ASKED_WITHIN_MS = 10_000;

interface Pair {
  buttons: readonly [string, string];
  expects?: Trial['expects'];
  meet(stand: Stand, rows: readonly Row[], afterMs: number): Promise<string>;
}

const PAIRS: readonly Pair[] = [
  { buttons: ['an approval', 'a cancellation'], expects: [], meet: approvedAndCancelled },
  { buttons: ['the release of a hold', 'a cancellation'], expects: [], meet: releasedAndCancelled },
  { buttons: ['RESUME', 'a cancellation'], expects: ['ECHO_MISMATCH'], meet: resumedAndCancelled },
  {
    buttons: ['EXCLUDE_PAYMENT', 'TRY_AGAIN of another row'],
    expects: ['ROW_REFUSED_BY_BANK'],
    meet: excludedAndTriedAgain,
  },
];

/** Two different buttons of one run, pressed by two people in the same moment. */
export function pairTrials(): Trial[] {
  return PAIRS.flatMap(({ buttons: [first, second], expects, meet }) =>
    RACES_MS.map((ms): Trial => ({
      fault: `${first}, and ${second} ${Math.abs(ms)} ms ${ms < 0 ? 'before' : 'after'} it`,
      assumptions: 'inside',
      short: false,
      stand: 'patient',
      expects,
      meet: (stand, rows) => meet(stand, rows, ms),
    })),
  );
}

async function approvedAndCancelled(stand: Stand, rows: readonly Row[], afterMs: number): Promise<string> {
  const run = await stand.payroll.uploaded(payFile(rows));
  stand.noteApproved(rows);
  const [approval, cancellation] = await pressed(
    afterMs,
    () => stand.payroll.approve(run),
    () => cancelled(stand, run.id),
  );
  if (cancellation.status !== 200 && approval.status !== 200) throw refused(cancellation);
  await ended(stand, run.id, rows, cancellation);
  return run.id;
}

async function releasedAndCancelled(stand: Stand, rows: readonly Row[], afterMs: number): Promise<string> {
  const { payroll } = stand;
  const twice = { ...(rows[0] as Row), amount: '12.34' };
  const { id } = await payroll.uploaded(payFile([...rows, twice]));
  const { data } = await payroll.as('approver').get(payroll.path(`/pay-runs/${id}/holds`));
  const release = { code: 'EMPLOYEE_TWICE', paymentId: data.items[0].payment.id, reason };
  const [, cancellation] = await pressed(
    afterMs,
    () => payroll.as('approver').post(payroll.path(`/pay-runs/${id}/holds/release`), release),
    () => cancelled(stand, id),
  );
  if (cancellation.status !== 200) throw refused(cancellation);
  await ended(stand, id, rows, cancellation);
  return id;
}

async function resumedAndCancelled(stand: Stand, rows: readonly Row[], afterMs: number): Promise<string> {
  const { payroll } = stand;
  await payroll.fault({ operation: 'add', kind: 'echo-corrupted', field: 'amount', nth: 2 });
  const id = await stand.pay(rows);
  const asked = await payroll.askedAbout(id, 'ECHO_MISMATCH');
  const { data: read } = await payroll.as('operator').post(`${asked}/actions`, { action: 'RESUME', reason });
  const [resumption, cancellation] = await pressed(
    afterMs,
    () => payroll.as('second').post(`${asked}/actions/confirmation`, { actionId: read.id }),
    () => cancelled(stand, id),
  );
  if (cancellation.status !== 200 && resumption.status !== 200) throw refused(cancellation);
  await ended(stand, id, rows, cancellation);
  return id;
}

/** Of each of the two instructions a row is refused: one is taken out while the other's is built again. */
async function excludedAndTriedAgain(stand: Stand, rows: readonly Row[], afterMs: number): Promise<string> {
  const { payroll } = stand;
  for (const nth of [2, 5]) await payroll.fault({ operation: 'add', kind: '422', nth });
  const id = await stand.pay(rows);
  const asked = await bothAsked(stand, id);
  const actions = ['EXCLUDE_PAYMENT', 'TRY_AGAIN'];
  const confirmations: Press[] = [];
  for (const [n, path] of asked.entries()) {
    const { data: read } = await payroll.propose(path, { action: actions[n], reason });
    const confirm = () => payroll.as('second').post(`${path}/actions/confirmation`, { actionId: read.id });
    confirmations.push(confirm);
  }
  const [out, again] = await pressed(afterMs, ...(confirmations as [Press, Press]));
  if (out.status !== 200 && again.status !== 200) throw refused(out);
  if (out.status === 200) await paidWithoutIt(stand, id, rows);
  else await payroll.until(id, ['SETTLED'], 20_000);
  return id;
}

/** The paths of what is asked about the two refused rows. */
async function bothAsked({ payroll }: Stand, id: string): Promise<string[]> {
  let asked: string[] = [];
  await eventually(
    async () => {
      const open = await payroll.attention();
      const mine = open.filter(({ kind, payRunId }) => kind === 'ROW_REFUSED_BY_BANK' && payRunId === id);
      asked = mine.map((one) => payroll.path(`/attention/${one.id}`));
      return asked.length === 2;
    },
    BOTH_ASKED_WITHIN_MS,
    () => `${asked.length} rows were refused`,
  );
  return asked;
}

type Press = () => Promise<AxiosResponse>;

/** The second is pressed so long after the first, or before it. */
function pressed(afterMs: number, first: Press, second: Press): Promise<[AxiosResponse, AxiosResponse]> {
  return Promise.all([sleep(Math.max(0, -afterMs)).then(first), sleep(Math.max(0, afterMs)).then(second)]);
}

function cancelled({ payroll }: Stand, id: string): Promise<AxiosResponse> {
  return payroll.as('preparer').post(payroll.path(`/pay-runs/${id}/cancellation`), { reason });
}

/** A run that was cancelled pays nobody; any other is paid. */
async function ended(
  stand: Stand,
  id: string,
  rows: readonly Row[],
  cancellation: AxiosResponse,
): Promise<void> {
  if (cancellation.status !== 200) return void (await stand.payroll.until(id, ['SETTLED'], 20_000));
  stand.disapprove(rows);
  await stand.payroll.until(id, ['CANCELLED'], 20_000);
}

function refused({ status, data }: AxiosResponse): Error {
  return new Error(`both were refused: ${status} ${JSON.stringify(data)}`);
}
