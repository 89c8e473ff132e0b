import type { Database, EmployerTransaction } from '../../src/database/database';
import { newId } from '../../src/database/new-id';
import type { PayRunStatus } from '../../src/domain/pay-run';
import { Attention, type AttentionActionRow } from '../../src/pay-run/attention.entity';
import type { RestoreAdoption } from '../../src/restore/restore-adoption';
import { tellUnrecorded, Unrecorded, UnrecordedSubmits } from '../../src/restore/unrecorded-submits';
import { idsOf } from '../database/two-employers';
import { NothingAsked, nothingAsked } from '../pay-run/nothing-asked';
import { execute } from '../support/database';

interface SeenInGroup {
  status: string;
  groupStatus: string;
}

const LEFT = { status: 'SUB_IS_VALID', groupStatus: 'NOTPROCESSABLE' };
const AMOUNTS = [100n, 20n];

/** How the bank shows both payments of a submit that a restored database had forgotten. */
const seen = (shown: readonly (string | SeenInGroup)[], evidence: object = {}): Unrecorded =>
  ({
    forgotten: { bankInstructionId: 'Z', payRunId: 'run' },
    look: {
      evidence: {
        rows: AMOUNTS.map((amountMinor, index) => ({ rowNo: index + 1, amountMinor })),
        matched: new Map(
          shown.map((one, index) => [index + 1, typeof one === 'string' ? { status: one } : one]),
        ),
        ...evidence,
      },
    },
  }) as unknown as Unrecorded;

/** Two people decide it on the bank's written word: how many payments are counted, and how much. */
async function counted(one: Unrecorded): Promise<unknown> {
  const query = jest.fn().mockResolvedValue([]);
  const adoption = { record: () => Promise.resolve('the run is FAILED') } as unknown as RestoreAdoption;
  await new UnrecordedSubmits({} as Database, adoption).takeOver(
    { employerId: 'e1', query } as unknown as EmployerTransaction,
    { instructionId: null, payRunId: null } as Attention,
    { id: 'a1', reason: 'we asked', evidence: 'a letter' } as AttentionActionRow,
    [one],
  );
  const [, parameters] = query.mock.calls[0] as [string, unknown[]];
  return parameters.slice(3).flat();
}

describe('of a forgotten submit that its run does not take back', () => {
  it.each([
    [['SETTLED', 'SETTLED'], 2, 120n],
    [['FAILED', 'SETTLED'], 1, 20n],
    [['FAILED', 'REJECTED'], 0, 0n],
    [['SETTLED', LEFT], 1, 100n],
  ])('what the bank has settled is counted: %j', async (shown, payments, minor) => {
    expect(await counted(seen(shown))).toEqual([payments, minor]);
  });

  it.each([
    ['a payment ended in nobody knows what', seen(['SETTLED', 'EXCHANGE_ERROR'])],
    ['a payment came back', seen(['SETTLED', 'FAILED'], { isUnsettled: true })],
    ['it is not as it was approved', seen(['SETTLED', 'SETTLED'], { differs: 'one more' })],
    ['a payment is not shown', seen(['SETTLED'])],
    ['the bank has not ended a payment', seen(['SETTLED', 'READY_FOR_EXCHANGE'])],
    ['a payment waits', seen(['SETTLED', 'C_INST_WAITING_FOR_APPROVAL'])],
    ['all are left where they stood, and may be taken up yet', seen([LEFT, LEFT])],
  ])('nothing is counted, and the doubt stays, where %s', async (_why, one) => {
    expect(await counted(one)).toEqual([null, null]);
  });
});

describe('of what a restore made the record forget of a run', () => {
  const { employer, spareRun } = idsOf(1);
  let office: NothingAsked;
  const runIs = (status: PayRunStatus) =>
    execute(
      office.server.superuserUrl,
      `SET session_replication_role = replica; UPDATE pay_run SET status = '${status}' WHERE id = '${spareRun}'`,
    );
  beforeEach(async () => {
    office = await nothingAsked();
    await runIs('CANCELLED');
  });
  afterEach(() => office.close());

  const found = (bankInstructionId: string, status = 'SETTLED') =>
    execute(
      office.server.superuserUrl,
      `WITH restored AS (INSERT INTO database_restore (id, what) VALUES ('${newId()}', 'another database') RETURNING id)
       INSERT INTO forgotten_instruction (employer_id, bank_instruction_id, restore_id, pay_run_id, bank_status)
       SELECT '${employer}', '${bankInstructionId}', id, '${spareRun}', '${status}' FROM restored`,
    );
  const asked = () =>
    office.database.inEmployer(employer, async (tx) => {
      await tellUnrecorded(tx, [spareRun]);
      const open = await tx.manager.findBy(Attention, { kind: 'UNRECORDED_SUBMIT', payRunId: spareRun });
      return open.filter(({ resolvedAt }) => resolvedAt === null);
    });

  it('people are asked anew about one more, and not again about the same', async () => {
    await found('471');
    const [first] = await asked();
    expect((await asked()).map(({ id }) => id)).toEqual([first?.id]);
    await found('47');
    const [one, ...more] = await asked();
    expect([one?.happened, more]).toEqual([expect.stringContaining('"471", "47"'), []]);
    expect(one?.id).not.toBe(first?.id);
  });

  it('only those are decided that people have read of', async () => {
    await found('471');
    const [first] = await asked();
    await found('47');
    const adoption = { look: () => Promise.resolve('it is not shown') } as unknown as RestoreAdoption;
    const shown = await new UnrecordedSubmits(office.database, adoption).read(employer, first!);
    expect(shown.map(({ forgotten }) => forgotten.bankInstructionId)).toEqual(['471']);
  });

  it('each whose status no document names is asked about by itself, and not said to be submitted', async () => {
    await runIs('SUBMITTING');
    await found('471', 'INI_SOMETHING');
    await found('472', 'INI_SOMETHING');
    await found('47');
    const happened = (await asked()).map((one) => one.happened);
    const about = (id: string) => happened.filter((one) => one.includes(`"${id}"`));
    expect(about('471')).toEqual([
      expect.stringContaining('"471" as INI_SOMETHING, which no document names'),
    ]);
    expect(about('472')).toEqual([
      expect.stringContaining('"472" as INI_SOMETHING, which no document names'),
    ]);
    expect(about('47')).toEqual([expect.stringContaining('The bank shows "47" as submitted')]);
    expect(happened).toHaveLength(3);
  });
});
