import { setTimeout as sleep } from 'node:timers/promises';
import type { AttentionKind } from '../../src/pay-run/attention-words';
import { select } from '../../test/support/database';
import { eventually } from '../../test/support/eventually';
import type { Meddling } from './proxy';
import { saidAgain } from './said-again';
import type { Stand } from './stand';
import { callOf } from './calls';
import { meddled, type Trial } from './trial';
import { type Shown, WrongReads } from './wrong-reads';

const CALCULATED_COUNT = /("calculatedNbPaymentTransactions":)(\d+)/;
const CALCULATED_CENTS = /("calculatedAmount":\{"value":)(\d+)/;
/** Where a total is shown, and what stands before its digits. */
const TOTALS = {
  count: { call: 'get', place: CALCULATED_COUNT },
  cents: { call: 'get', place: CALCULATED_CENTS },
  'count answered to the submit': { call: 'submit', place: CALCULATED_COUNT },
  'cents answered to the submit': { call: 'submit', place: CALCULATED_CENTS },
  'count of the submit': { call: 'submit', place: /("nbTransactions":)(\d+)/ },
  'cents of the submit': { call: 'submit', place: /("totalAmount":\{"value":)(\d+)/ },
} as const;
type Total = keyof typeof TOTALS;

/** When an instruction is read, by its status: that of its gate is the last before its submit. */
const WHEN = {
  BUILDING: 'at the check',
  VERIFIED: 'at the gate',
  SUBMITTED: 'while it is followed',
  CLOSED: 'after its end',
} as const;
type Status = keyof typeof WHEN;

/** So many reads a lagging bank shows less. */
const LAGS = 2;
/** A run that was not held back would have been submitted by then. */
const WOULD_BE_SUBMITTED_MS = 1_500;
const PAID_WITHIN_MS = 20_000;

/** The short proof tries a count at the check, and one that is more at the moments after it. */
const SHORT = [
  'calculated count one less at the check',
  'calculated count one more at the check',
  'calculated count one more at the gate',
  'calculated count one more while it is followed',
];

/** Calculated totals one less and one more, at each read of an instruction and in the answer to its submit. */
export function totalTrials(): Trial[] {
  const ofReads = [['count'], ['cents'], ['count', 'cents']] as const satisfies Total[][];
  const statuses = Object.keys(WHEN) as Status[];
  const both = [-1, 1];
  const ofSubmits = (Object.keys(TOTALS) as Total[]).filter((total) => TOTALS[total].call === 'submit');
  return [
    ...ofReads.flatMap((totals) =>
      statuses.flatMap((status) => both.map((by) => calculatedTrial(totals, status, by))),
    ),
    lastingTrial(),
    ...ofSubmits.flatMap((total) => both.map((by) => answeredTrial(total, by))),
  ];
}

/** Only more is asked about: groups that say less may be filling still, and what is calculated beside them lags. */
function answeredTrial(total: Total, by: number): Trial {
  return {
    ...meddled(nameOf([total], by), total.endsWith('of the submit'), () => wrongTotal(total, by)),
    stand: 'patient',
    expects: by > 0 ? ['TOTAL_MISMATCH_AFTER_SUBMIT'] : [],
  };
}

function nameOf(totals: readonly Total[], by: number): string {
  return `calculated ${totals.join(' and ')} one ${by < 0 ? 'less' : 'more'}`;
}

/** Less at two answers, as a lagging bank shows it; more at one. */
export function wrongTotal(total: Total, by: number): Meddling {
  const { call, place } = TOTALS[total];
  let left = by < 0 ? 2 : 1;
  return ({ method, path, body }) => {
    if (callOf(method, path) !== call || left === 0 || !place.test(body)) return undefined;
    left -= 1;
    return { body: shifted(body, [total], by) };
  };
}

function shifted(body: string, totals: readonly Total[], by: number): string {
  const places = totals.map((total) => TOTALS[total].place);
  const more = (_all: string, name: string, digits: string) => `${name}${Number(digits) + by}`;
  return places.reduce((text, place) => text.replace(place, more), body);
}

/** The same count with a smaller sum is no lag before the submit; after it, what failed need not be counted. */
function askedOf(totals: readonly Total[], status: Status, by: number): AttentionKind | undefined {
  const isSubmitted = status === 'SUBMITTED' || status === 'CLOSED';
  if (by < 0 && (isSubmitted || totals.includes('count'))) return undefined;
  return isSubmitted ? 'TOTAL_MISMATCH_AFTER_SUBMIT' : 'ECHO_MISMATCH';
}

function calculatedTrial(totals: readonly Total[], status: Status, by: number): Trial {
  const asked = askedOf(totals, status, by);
  const change = (body: string) => shifted(body, totals, by);
  const shown = { status, change, times: asked === undefined ? LAGS : Infinity };
  const follows = (asked === undefined ? AFTER_LAG : AFTER_MISMATCH)[status];
  return {
    ...shownTrial(`${nameOf(totals, by)} ${WHEN[status]}`, shown, follows),
    expects: asked === undefined ? [] : [asked],
  };
}

function lastingTrial(): Trial {
  const totals = ['count', 'cents'] as const;
  const change = (body: string) => shifted(body, totals, -1);
  const shown = { status: 'VERIFIED', change, times: Infinity };
  return {
    ...shownTrial(`${nameOf(totals, -1)} ${WHEN.VERIFIED}, for good`, shown, isAskedAbout),
    expects: ['ROW_UNSEEN'],
  };
}

function shownTrial(fault: string, shown: Shown, follows: Follows): Trial {
  return {
    fault,
    assumptions: 'inside',
    short: SHORT.includes(fault),
    stand: 'patient',
    instructions: 1,
    meet: async (stand, rows) => {
      const wrong = new WrongReads(stand, shown);
      const id = await stand.pay(rows);
      await wrong.untilStruck();
      await follows(stand, id, wrong);
      return id;
    },
  };
}

/** What must follow of a run that was shown wrongly. */
type Follows = (stand: Stand, id: string, wrong: WrongReads) => Promise<void>;

const AFTER_LAG: Readonly<Record<Status, Follows>> = {
  BUILDING: waits,
  VERIFIED: waits,
  SUBMITTED: goesOn,
  CLOSED: goesOn,
};
const AFTER_MISMATCH: Readonly<Record<Status, Follows>> = {
  BUILDING: isBuiltAgain,
  VERIFIED: stopsItsRun,
  SUBMITTED: stopsEverything,
  CLOSED: stopsEverything,
};

async function goesOn({ payroll }: Stand, id: string): Promise<void> {
  await payroll.until(id, ['SETTLED'], PAID_WITHIN_MS);
}

async function waits(stand: Stand, id: string, wrong: WrongReads): Promise<void> {
  await goesOn(stand, id);
  if (!wrong.wereFollowedByRight) throw new Error('it went on before it was shown right');
}

async function isBuiltAgain(stand: Stand, id: string, wrong: WrongReads): Promise<void> {
  await goesOn(stand, id);
  if (wrong.wasSubmitted) throw new Error('what is not what was approved was submitted');
}

async function stopsItsRun(stand: Stand, id: string, wrong: WrongReads): Promise<void> {
  await stand.payroll.askedAbout(id, 'ECHO_MISMATCH');
  const { stopped } = await stand.payroll.run(id);
  if (stopped === null) throw new Error('its run was not stopped');
  await decidedUnsubmitted(stand, id, wrong);
  await isBuiltAgain(stand, id, wrong);
}

async function stopsEverything(stand: Stand, id: string): Promise<void> {
  const { payroll } = stand;
  await payroll.askedAbout(id, 'TOTAL_MISMATCH_AFTER_SUBMIT');
  const { data } = await saidAgain(() => payroll.as('administrator').get('/v1/service'));
  if (data.submitsOff !== true) throw new Error('not all submits were stopped');
  await stand.decide(id);
  await goesOn(stand, id);
}

/** A bank that never catches up: people are asked once that has lasted for ten minutes. */
async function isAskedAbout(stand: Stand, id: string, wrong: WrongReads): Promise<void> {
  await tenMinutesLater(stand);
  await stand.payroll.askedAbout(id, 'ROW_UNSEEN');
  await decidedUnsubmitted(stand, id, wrong);
  await isBuiltAgain(stand, id, wrong);
}

/** Nothing is submitted before people have decided. */
async function decidedUnsubmitted(stand: Stand, id: string, wrong: WrongReads): Promise<void> {
  await sleep(WOULD_BE_SUBMITTED_MS);
  if (wrong.submits > 0) throw new Error('it was submitted before people had decided');
  await stand.decide(id);
}

/** What the service misses in an instruction, it has missed for so long. */
function tenMinutesLater({ payroll }: Stand): Promise<void> {
  const moved = async () => {
    const leases = await select(
      payroll.database.superuserUrl,
      `UPDATE lease SET missing_since = missing_since - interval '10 minutes' WHERE missing = 'ROWS' RETURNING 1`,
    );
    return leases.length > 0;
  };
  return eventually(moved, PAID_WITHIN_MS, () => 'nothing was missed');
}
