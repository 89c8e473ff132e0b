import type { BankInstruction } from '../../src/bank/records';
import { readById } from '../../src/database/by-id';
import { Instruction, PlannedInstruction } from '../../src/pay-run/instruction.entity';
import { PayRun } from '../../src/pay-run/pay-run.entity';
import type { Followed } from '../../src/settlement/followed';
import { tellOfDates } from '../../src/settlement/shown-dates';
import { idsOf } from '../database/two-employers';
import { NothingAsked, nothingAsked } from '../pay-run/nothing-asked';
import { execute, select } from '../support/database';

const ours = idsOf(1);
const EARLY = '2026-11-20';
const LATE = '2026-12-07';

let office: NothingAsked;
beforeEach(async () => {
  office = await nothingAsked();
  await changed(`UPDATE instruction SET bank_instruction_id = '471' || right(id::text, 1), planned_instruction_id =
    CASE id WHEN '${ours.instruction[0]}' THEN '${ours.planned[0]}'::uuid ELSE '${ours.planned[1]}' END
    WHERE id IN ('${ours.instruction.join("', '")}')`);
});
afterEach(() => office.close());

const changed = (text: string) =>
  execute(office.server.superuserUrl, `SET session_replication_role = replica; ${text}`);

/** The bank shows one of the run's two instructions so. */
const shows = (n: 0 | 1, executionDate: string) =>
  office.database.inEmployer(ours.employer, async (tx) => {
    const followed = {
      run: await readById(tx, PayRun, ours.run),
      instruction: await readById(tx, Instruction, ours.instruction[n]),
      planned: await readById(tx, PlannedInstruction, ours.planned[n]),
    } as Followed;
    await tellOfDates(tx, followed, { shown: { executionDate } as BankInstruction, seen: [], payments: [] });
  });
const asked = () =>
  select<{ id: string; happened: string; certain: string; askBank: string; payments: number }>(
    office.server.superuserUrl,
    `SELECT id, happened, certain, ask_bank AS "askBank", payments FROM attention WHERE resolved_at IS NULL`,
  );
const told = (date: string) =>
  `The bank shows the execution date ${date} for a submitted instruction that was approved for 2026-11-27.`;

describe('a run whose instructions the bank shows with other dates than was approved', () => {
  it('is one question about each of the dates, of all the instructions that show them, and not again once decided', async () => {
    await shows(0, EARLY);
    await shows(1, LATE);
    const [first] = await asked();
    for (const n of [0, 1, 0] as const) await shows(n, n === 0 ? EARLY : LATE);
    const [still, ...others] = await asked();
    expect(others).toEqual([]);
    expect(still).toEqual(first);
    expect(still).toMatchObject({ happened: `${told(EARLY)} ${told(LATE)}`, payments: 3 });
    expect(still?.askBank).toMatch(/customer instruction 4711 show.* customer instruction 4712 show/);
    await office.decide();
    await shows(0, EARLY);
    await shows(1, LATE);
    expect(await asked()).toEqual([]);
  });

  it('is told once where all show the same date', async () => {
    await shows(0, EARLY);
    const [first] = await asked();
    await shows(1, EARLY);
    expect(await asked()).toEqual([first]);
    expect(first).toMatchObject({ happened: told(EARLY) });
  });

  describe('of which one was taken over,', () => {
    const ofTakenOver = (date: string) =>
      told(date).replace('a submitted instruction', 'an instruction taken over as submitted');
    beforeEach(() =>
      changed(`UPDATE forgotten_instruction SET bank_instruction_id = '4712', adopted_at = now()`),
    );

    it.each([
      ['another date', LATE],
      ['the same date', EARLY],
    ])('says that not all were sent with the approved date where that shows %s', async (_what, date) => {
      await shows(0, EARLY);
      for (let n = 0; n < 2; n += 1) await shows(1, date);
      expect(await asked()).toMatchObject([
        {
          happened: `${told(EARLY)} ${ofTakenOver(date)}`,
          certain: expect.stringMatching(
            /^Some were submitted once.* The submit of others was not in the record/,
          ),
          askBank: expect.stringMatching(
            /4711 show .* With which execution date was customer instruction 4712/,
          ),
        },
      ]);
    });

    it('is asked about the same date of one that was sent once that of the other is decided, and not again then', async () => {
      await shows(1, EARLY);
      await office.decide();
      for (let n = 0; n < 2; n += 1) await shows(0, EARLY);
      expect(await asked()).toMatchObject([
        { happened: told(EARLY), certain: expect.stringMatching(/^It was submitted once, with the date/) },
      ]);
      await office.decide();
      for (const n of [0, 1] as const) await shows(n, EARLY);
      expect(await asked()).toEqual([]);
    });
  });
});
