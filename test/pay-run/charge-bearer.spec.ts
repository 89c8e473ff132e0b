import { readById } from '../../src/database/by-id';
import { tellOfBearers } from '../../src/pay-run/charge-bearer';
import { Instruction } from '../../src/pay-run/instruction.entity';
import { idsOf } from '../database/two-employers';
import { select } from '../support/database';
import { NothingAsked, nothingAsked } from './nothing-asked';

const ours = idsOf(1);
let office: NothingAsked;
beforeEach(async () => {
  office = await nothingAsked();
});
afterEach(() => office.close());

/** The bank shows rows of one of the run's two instructions with these charge bearers, in order. */
const shows = (n: 0 | 1, ...bearers: (string | undefined)[]) =>
  office.database.inEmployer(ours.employer, async (tx) => {
    const instruction = await readById(tx, Instruction, ours.instruction[n]);
    const shown = bearers.map((chargeBearer, at) => ({ rowNo: at + 1, chargeBearer }));
    await tellOfBearers(tx, instruction, shown);
  });
const asked = async () => {
  const told = await select<{ happened: string; certain: string; words: string | null; payments: number }>(
    office.server.superuserUrl,
    `SELECT happened, certain, bank_words AS words, payments FROM attention WHERE resolved_at IS NULL
     ORDER BY happened`,
  );
  return told.map(({ happened, certain, words, payments }) => ({
    code: /with a charge bearer (.*), and not SLEV/.exec(happened)?.[1],
    rows: /Found first in row (.*)\.$/.exec(certain)?.[1],
    words,
    payments,
  }));
};

describe('the charge bearer of payments', () => {
  it('is no question where it is shown as it was sent, or not at all', async () => {
    await shows(0, 'SLEV', undefined);
    expect(await asked()).toEqual([]);
  });

  it('is asked about once of a run for each other code, and not again once decided', async () => {
    const debt = { code: 'DEBT', rows: '1, 3', words: null, payments: 2 };
    const shared = { code: 'SHAR', rows: '2', words: null, payments: 1 };
    for (const n of [0, 1, 0] as const) await shows(n, 'DEBT', 'SHAR', 'DEBT');
    expect(await asked()).toEqual([debt, shared]);
    await office.decide();
    for (const n of [0, 1] as const) await shows(n, 'SHAR', 'DEBT');
    expect(await asked()).toEqual([]);
    await shows(1, 'CRED');
    expect(await asked()).toEqual([{ code: 'CRED', rows: '1', words: null, payments: 1 }]);
  });

  it('is told to whom may see payments alone where it is no code, for it may say anything', async () => {
    await shows(0, 'ADA LOVELACE', 'SLEV', 'ADA LOVELACE');
    await shows(1, 'SOMETHING ELSE');
    expect(await asked()).toEqual([
      { code: 'that no document names', rows: '1, 3', words: 'Shown: "ADA LOVELACE".', payments: 2 },
    ]);
  });
});
