import { Database } from '../../src/database/database';
import {
  answeredOtherwise,
  askOfDifferences,
  Differences,
  shownOtherwise,
  untoldOf,
} from '../../src/pay-run/difference';
import {
  endUnsubmitted,
  instructionOfRun,
  lockInstruction,
  planOf,
} from '../../src/pay-run/instruction.store';
import { tellOfUnrecordedMove } from '../../src/submission/unrecorded-move';
import { idsOf } from '../database/two-employers';
import { execute, select } from '../support/database';
import { NothingAsked, nothingAsked } from './nothing-asked';

const ours = idsOf(1);
const [FIRST, SECOND] = [
  'row 1 differs in iban (reading iban 01ab)',
  'row 2 differs in amount (reading amount 01cd)',
];
let office: NothingAsked;
let database: Database;
beforeEach(async () => {
  office = await nothingAsked();
  ({ database } = office);
});
afterEach(() => office.close());

const open = () =>
  select<{ subject: string; attempt: string; happened: string; asked: string }>(
    office.server.superuserUrl,
    `SELECT subject_id AS subject, instruction_id AS attempt, happened, ask_bank AS asked FROM attention
     WHERE kind IN ('ECHO_MISMATCH', 'FOREIGN_RECORD') AND resolved_at IS NULL`,
  );
const about = async (
  instructionId: string,
  named: string[],
  more: Partial<Differences>,
  subjectId?: string,
) =>
  database.inEmployer(ours.employer, async (tx) => {
    const instruction = await lockInstruction(tx, instructionId);
    const differences = { kind: 'ECHO_MISMATCH', what: shownOtherwise(instruction), named, ...more } as const;
    await askOfDifferences(tx, instruction, await planOf(tx, instruction), differences, subjectId);
  });
/** An attempt is given up that differed so. */
const differed = (instructionId: string, ...named: string[]) => about(instructionId, named, {});
const untold = (id: string, ...named: string[]) =>
  database.inEmployer(ours.employer, (tx) => untoldOf(tx, { id }, named));
const bankIdOf = async (instructionId: string) => {
  const [row] = await select<{ id: string }>(
    office.server.superuserUrl,
    `SELECT bank_instruction_id AS id FROM instruction WHERE id = '${instructionId}'`,
  );
  return row!.id;
};
const shown = async (instructionId: string, words: string) =>
  `${shownOtherwise({ bankInstructionId: await bankIdOf(instructionId) })}: ${words}.`;

describe('how an instruction differs that is given up', () => {
  it('is one question of all its attempts, told anew where another differs otherwise, and asks the bank about each', async () => {
    await differed(ours.abandoned, FIRST);
    await differed(ours.unmoved, FIRST);
    const first = await shown(ours.abandoned, FIRST);
    expect(await open()).toMatchObject([
      { subject: ours.planned[0], attempt: ours.abandoned, happened: first },
    ]);
    await differed(ours.unmoved, SECOND, FIRST);
    const both = `${first} ${await shown(ours.unmoved, SECOND)}`;
    const ids = `${await bankIdOf(ours.abandoned)}, ${await bankIdOf(ours.unmoved)}`;
    expect(await open()).toEqual([
      {
        subject: ours.planned[0],
        attempt: ours.unmoved,
        happened: both,
        asked: expect.stringContaining(`in ${ids}, or`),
      },
    ]);
  });

  it('is not asked again once two people decided it, whatever else is, also of the same field', async () => {
    await differed(ours.abandoned, FIRST);
    await office.decide();
    await differed(ours.unmoved, SECOND);
    await differed(ours.unmoved, FIRST);
    expect(await open()).toMatchObject([{ happened: await shown(ours.unmoved, SECOND) }]);
    const other = FIRST.replace('01ab', '01ef');
    expect(await untold(ours.planned[0], FIRST, other, SECOND)).toEqual([other]);
    await differed(ours.unmoved, other);
    expect(await open()).toMatchObject([{ happened: expect.stringContaining(other) }]);
  });

  it('is told anew of what was never sent in each attempt, also in the same words', async () => {
    const stranger = ['a payment is there that the record does not have ("9")'];
    await about(ours.abandoned, stranger, { kind: 'FOREIGN_RECORD' });
    await about(ours.unmoved, stranger, { kind: 'FOREIGN_RECORD' });
    const [asked, ...others] = await open();
    expect(others).toEqual([]);
    for (const id of [ours.abandoned, ours.unmoved]) {
      expect(asked!.happened).toContain(await shown(id, stranger[0]!));
      expect(asked!.asked).toContain(await bankIdOf(id));
    }
  });

  it('is asked of a row also where what was never sent was asked about in the same words', async () => {
    const stranger = 'a payment is there that the record does not have ("9")';
    await about(ours.abandoned, [stranger, FIRST], { kind: 'FOREIGN_RECORD' });
    await differed(ours.unmoved, FIRST);
    const asked = (await open()).map(({ happened }) => happened);
    expect(asked).toContain(await shown(ours.unmoved, FIRST));
  });

  it('is told once, however much it is, and not again once two people decided it', async () => {
    const many = Array.from({ length: 200 }, (_, row) => `row ${row} differs in iban (reading iban 01ab)`);
    await differed(ours.abandoned, ...many);
    const first = await open();
    expect(first).toMatchObject([{ happened: expect.stringMatching(/ and 180 more\.$/) }]);
    await differed(ours.unmoved, ...many);
    expect(await open()).toEqual(first);
    await office.decide();
    await differed(ours.unmoved, ...many);
    expect(await open()).toEqual([]);
    await differed(ours.unmoved, ...many, SECOND);
    expect(await open()).toMatchObject([{ happened: await shown(ours.unmoved, SECOND) }]);
  });

  it('is not said to be built again once somebody else has submitted it', async () => {
    const building = 'it is abandoned and built again';
    await about(ours.unmoved, [FIRST], { certain: building }, ours.unmoved);
    await database.inEmployer(ours.employer, async (tx) => {
      const work = (await instructionOfRun(tx, ours.unmoved))!;
      await tellOfUnrecordedMove(tx, { ...work, run: { ...work.run, status: 'BUILDING' } }, 'SUB_REQUIRED');
    });
    const asked = await select(
      office.server.superuserUrl,
      `SELECT subject_id AS subject, certain FROM attention WHERE kind = 'ECHO_MISMATCH' AND resolved_at IS NULL`,
    );
    const words = 'We have not submitted the instruction: somebody else has';
    expect(asked).toEqual([{ subject: ours.planned[0], certain: expect.stringContaining(words) }]);
  });

  it('stays a question of a length that can be read, which says that there is more', async () => {
    const batch = (n: number) =>
      Array.from({ length: 200 }, (_, row) => `row ${200 * n + row} in iban (reading iban 01ab)`);
    for (let n = 0; n < 12; n += 1) await differed(ours.unmoved, ...batch(n));
    const [asked] = await open();
    expect(asked!.happened.length).toBeLessThan(6_000);
    expect(asked!.happened).toMatch(
      /row 19 in iban [^.]* and 180 more\. .* Other payments differ as well\.$/,
    );
  });

  it('stays asked where it was asked while it was built, of an attempt that no read can clear any more', async () => {
    const [instructionId, planned] = [ours.instruction[1], ours.planned[1]];
    await execute(
      office.server.superuserUrl,
      `SET session_replication_role = replica; UPDATE instruction SET status = 'BUILDING' WHERE id = '${instructionId}'`,
    );
    const what = answeredOtherwise({ bankInstructionId: await bankIdOf(instructionId) });
    await about(instructionId, [FIRST], { what }, instructionId);
    await about(instructionId, [FIRST, SECOND], { what }, instructionId);
    const happened = `${what}: ${FIRST}. ${what}: ${SECOND}.`;
    expect(await open()).toMatchObject([{ subject: instructionId, happened }]);
    await database.inEmployer(ours.employer, async (tx) =>
      endUnsubmitted(tx, await lockInstruction(tx, instructionId), 'service', 'it is amended'),
    );
    expect(await open()).toMatchObject([{ subject: planned, attempt: instructionId, happened }]);
    expect([await untold(planned, FIRST), await untold(ours.planned[0], FIRST)]).toEqual([[], [FIRST]]);
  });
});
