import type { Database, EmployerTransaction } from '../../src/database/database';
import type { Attention, AttentionActionRow } from '../../src/pay-run/attention.entity';
import type { RestoreAdoption } from '../../src/submission/restore-adoption';
import { Unrecorded, UnrecordedSubmits } from '../../src/submission/unrecorded-submits';

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
