import { setTimeout as sleep } from 'node:timers/promises';
import type { Row } from '../../test/support/pay-rows';
import { eventually } from '../../test/support/eventually';
import { saidAgain } from './said-again';
import type { Stand } from './stand';
import { callOf } from './calls';
import { type Trial } from './trial';

/** The word of the second person and the submit leave each other so long. */
const RACES_MS = [-40, 0, 40] as const;
/** Where nobody is asked, it came after all. */
const ASKED_WITHIN_MS = 5_000;
const word = { action: 'NOT_EXECUTED', reason: 'decided in the proof' };

/** A submit that the network holds until people have been asked about it, and later. */
export function lateSubmitTrials(): Trial[] {
  const base = {
    assumptions: 'inside',
    short: true,
    stand: 'plain',
    instructions: 1,
    expects: ['SUBMIT_UNKNOWN'],
  } as const;
  return [
    {
      ...base,
      fault: 'a submit that comes after SUBMIT_UNKNOWN, and clears it',
      meet: async (stand, rows) => {
        const { id, release } = await parked(stand, rows);
        if ((await release()) >= 300) throw new Error('the bank did not execute it');
        await stand.payroll.until(id, ['SETTLED'], 20_000);
        return id;
      },
    },
    {
      ...base,
      fault: 'a submit that comes after it was declared not executed',
      meet: async (stand, rows) => {
        const { id, release } = await parked(stand, rows);
        if (!(await declaredWhileHeld(stand, id))) throw new Error('it could not be declared');
        if ((await release()) < 300) throw new Error('the bank executed what was deleted');
        return id;
      },
    },
    {
      ...base,
      fault: 'a submit that comes after its successor was paid',
      meet: async (stand, rows) => {
        const { id, release } = await parked(stand, rows);
        if (!(await declaredWhileHeld(stand, id))) throw new Error('it could not be declared');
        await stand.payroll.until(id, ['FAILED'], 20_000);
        const next = await successor(stand, id, rows);
        await stand.payroll.until(next, ['SETTLED'], 20_000);
        if ((await release()) < 300) throw new Error('the bank executed what was deleted');
        return [id, next];
      },
    },
    ...RACES_MS.map((ms): Trial => ({
      ...base,
      fault: `a submit that comes ${Math.abs(ms)} ms ${ms < 0 ? 'before' : 'after'} the word that it was not executed`,
      short: false,
      meet: async (stand, rows) => {
        const { id, release } = await parked(stand, rows);
        const [isDeclared, status] = await Promise.all([
          sleep(Math.max(0, -ms)).then(() => declared(stand, id)),
          sleep(Math.max(0, ms)).then(release),
        ]);
        // Deleted before, by a call whose answer was lost to a busy machine.
        if (status >= 300 && !isDeclared && !(await declaredWhileHeld(stand, id)))
          throw new Error('it could not be declared');
        const final = status < 300 ? 'SETTLED' : 'FAILED';
        await stand.payroll.until(id, [final], 20_000);
        return id;
      },
    })),
  ];
}

/** Pays with a submit that the network holds; answers when people are asked about it. */
async function parked(
  stand: Stand,
  rows: readonly Row[],
): Promise<{ id: string; release: () => Promise<number> }> {
  let release = (): void => undefined;
  const held = new Promise<void>((go) => (release = go));
  let first = true;
  stand.proxy.ahead = async ({ method, path }) => {
    if (!first || callOf(method, path) !== 'submit') return false;
    first = false;
    await held;
    return true;
  };
  const id = await stand.pay(rows);
  await stand.payroll.askedAbout(id, 'SUBMIT_UNKNOWN');
  const submit = stand.proxy.posts.findLast(({ path }) => path.endsWith('/submit'));
  return {
    id,
    release: async () => {
      release();
      await eventually(() => Promise.resolve(submit?.status !== undefined), 5_000);
      return submit?.status ?? 0;
    },
  };
}

/**
 * As `declared`, of a submit that has not left: a delete that was carried out and not answered proves nothing, and the bank
 * then says in writing that it has not executed it.
 */
export async function declaredWhileHeld(stand: Stand, runId: string): Promise<boolean> {
  return (await declared(stand, runId)) || declared(stand, runId, { evidence: 'by the book of the bank' });
}

/** Whether two people could declare it not executed. */
async function declared(
  { payroll }: Stand,
  runId: string,
  written: { evidence?: string } = {},
): Promise<boolean> {
  const asked = await payroll.askedAbout(runId, 'SUBMIT_UNKNOWN', ASKED_WITHIN_MS).catch(() => undefined);
  if (asked === undefined) return false;
  await saidAgain(() => payroll.as('operator').post(`${asked}/actions`, { ...word, ...written }));
  const { status } = await saidAgain(() => payroll.confirm(asked));
  if (status !== 200) await saidAgain(() => payroll.as('operator').delete(`${asked}/actions`));
  return status === 200;
}

/** A run that pays again what the other did not, approved. @throws where it is refused */
async function successor(stand: Stand, runId: string, rows: readonly Row[]): Promise<string> {
  const { payroll } = stand;
  await payroll.leaveTheLastMinutes();
  const terms = { executionDate: payroll.executionDate(), submitAt: new Date().toISOString() };
  const path = payroll.path(`/pay-runs/${runId}/successor`);
  const { status, data } = await saidAgain(() => payroll.as('preparer').post(path, terms));
  if (status !== 201) throw new Error(`no successor was made: ${status}`);
  await stand.approve(data, rows);
  return String(data.id);
}
