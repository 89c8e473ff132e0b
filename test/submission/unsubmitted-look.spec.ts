import { NotAllowed } from '../../src/bank/errors';
import type { BankGateway } from '../../src/bank/gateway';
import type { PaymentMarks } from '../../src/bank/payment-marks';
import type { BankLists } from '../../src/database/bank-lists';
import type { Database } from '../../src/database/database';
import type { EmployerAccount } from '../../src/employer/employer.entity';
import { messageIdOf } from '../../src/pay-run/message-id';
import type { PayRun } from '../../src/pay-run/pay-run.entity';
import { UnsubmittedLook } from '../../src/submission/unsubmitted-look';
import type { ListedUnsubmitted, UnsubmittedProof } from '../../src/submission/unsubmitted-proof';
import { idsOf } from '../database/two-employers';
import { nothingAsked } from '../pay-run/nothing-asked';
import { SetClock } from '../schedule/schedules';
import { execute } from '../support/database';

const OURS = '019af0d2-0000-7000-8000-000000000001';
const OTHER = '019af0d2-0000-7000-8000-000000000002';
const CREATED = new Date('2026-03-10T09:00:00Z');
const RUN = { id: 'run', employerId: 'employer' } as PayRun;

type Record_ = Partial<PaymentMarks> & { status: string };

let known: boolean;
let remembered: number;
let asked: unknown[];
/** Of what the list showed, which instructions were read. */
let read: (string | undefined)[];
let clock: SetClock;
let lagMs: number;
beforeEach(() => {
  [known, remembered, asked, read, lagMs] = [false, 0, [], [], 0];
  clock = new SetClock('2026-03-10T10:00:00Z');
});

const BUILT = {
  inEmployer: () => Promise.resolve([{ id: OURS, bankInstructionId: 'CI1', createdAt: CREATED }]),
} as unknown as Database;

/** A look at a list of so many records, or one that fails, of which the instructions are before their submit or not. */
function lookAt(
  records: readonly Record_[] | Error,
  isGiven = () => Promise.resolve(true),
  database: Pick<Database, 'inEmployer'> = BUILT,
): UnsubmittedLook {
  const lists = {
    showsUnsubmitted: () => Promise.resolve(known),
    rememberUnsubmitted: () => Promise.resolve((remembered += 1)),
  };
  async function* listStatuses(filter: unknown, isWanted: (marks: PaymentMarks) => boolean) {
    asked.push(filter);
    if (records instanceof Error) throw records;
    for (const one of records) if (isWanted(one)) yield one;
  }
  const proof = {
    isGiven: (listed: readonly ListedUnsubmitted[]) => {
      read.push(...listed.map(({ bankInstructionId }) => bankInstructionId));
      return isGiven();
    },
  };
  return new UnsubmittedLook(
    database as Database,
    { listStatuses } as unknown as BankGateway,
    lists as unknown as BankLists,
    proof as unknown as UnsubmittedProof,
    clock,
    { BANK_LAG_BOUND_MS: lagMs },
  );
}

const account = (...reads: string[]) => ({ reads }) as unknown as EmployerAccount;
const LISTED = account('PAYMENT_LIST', 'INSTRUCTION');
const ofOurs = { status: 'INITIATED', bankInstructionId: 'CI1' };
const stranger = { status: 'INITIATED', bankInstructionId: 'CI7', messageId: 'somebody' };

describe('whether the bank’s list shows what is not submitted', () => {
  it.each<[string, readonly Record_[] | Error, number]>([
    ['by the id of its instruction', [stranger, ofOurs], 1],
    ['by its message id', [stranger, { status: 'INITIATED', messageId: messageIdOf(OURS, 3) }], 1],
    ['not by what others show', [stranger, { status: 'INITIATED', messageId: messageIdOf(OTHER, 3) }], 0],
    ['not by what went on', [{ status: 'SUBMITTED', bankInstructionId: 'CI1' }], 0],
    ['not by what comes in', [{ ...ofOurs, status: 'INI_STARTED', direction: 'INWARD' }], 0],
    ['not by nothing', [], 0],
    ['not by a list that may not be read', new NotAllowed(403, { raw: '' }), 0],
    ['not by what stands behind more than is worth it', [...Array<Record_>(500).fill(stranger), stranger], 0],
  ])('is learned %s', async (_by, records, times) => {
    await lookAt(records).at('gate', RUN, LISTED);
    expect(remembered).toBe(times);
    expect(asked).toEqual([{ from: '2026-03-09T09:00:00.000Z' }]);
  });

  it.each<[string, () => Promise<boolean>]>([
    ['is submitted', () => Promise.resolve(false)],
    ['cannot be read', () => Promise.reject(new NotAllowed(403, { raw: '' }))],
  ])('is not learned from a payment whose instruction %s', async (_what, isGiven) => {
    await lookAt([ofOurs], isGiven).at('gate', RUN, LISTED);
    expect([remembered, read]).toEqual([0, ['CI1']]);
  });

  it('is learned from the list alone where no instruction may be read, as the submit rests on no more', async () => {
    await lookAt([ofOurs]).at('gate', RUN, account('PAYMENT_LIST', 'PAYMENT'));
    expect([remembered, read]).toEqual([1, []]);
  });

  it('is not learned from what others of its run were submitted with', async () => {
    const office = await nothingAsked();
    try {
      const ours = idsOf(1);
      const at = () =>
        lookAt([{ status: 'INITIATED', bankInstructionId: 'bank-1-1' }], undefined, office.database).at(
          'building',
          { id: ours.run, employerId: ours.employer } as PayRun,
          account('PAYMENT_LIST'),
        );
      const sets = (status: string) =>
        execute(
          office.server.superuserUrl,
          `SET session_replication_role = replica;
           UPDATE instruction SET status = '${status}' WHERE bank_instruction_id IN ('bank-1-1', 'bank-1-2')`,
        );
      for (const status of ['SUBMIT_INTENT', 'SUBMIT_UNKNOWN', 'SUBMITTED']) {
        await sets(status);
        await at();
      }
      expect(remembered).toBe(0);
      await sets('VERIFIED');
      await at();
      expect(remembered).toBe(1);
    } finally {
      await office.close();
    }
  });

  it('is looked at once an hour, where it is not known and the list may be read', async () => {
    const look = lookAt([]);
    await look.at('gate', RUN, account('INSTRUCTION_PAYMENTS'));
    expect(asked).toHaveLength(0);
    const asking = async (at: string) => {
      clock.set(`2026-03-10T${at}Z`);
      await look.at('gate', RUN, LISTED);
      return asked.length;
    };
    const times = [await asking('10:00:00'), await asking('11:00:00'), await asking('11:00:01')];
    expect(times).toEqual([1, 1, 2]);
    known = true;
    expect(await asking('13:00:00')).toBe(2);
  });

  describe('is learned by a read of the instruction', () => {
    beforeEach(() => {
      lagMs = 30_000;
      jest.spyOn(performance, 'now').mockReturnValue(1_000_000);
    });
    afterEach(() => jest.restoreAllMocks());
    const pass = (ms: number) => jest.spyOn(performance, 'now').mockReturnValue(1_000_000 + ms);

    it('a lag bound after the list was: until then it may not show that somebody else submitted it', async () => {
      const look = lookAt([{ status: 'INITIATED', messageId: messageIdOf(OURS, 3) }]);
      await look.at('building', RUN, LISTED);
      pass(29_999);
      await look.at('gate', RUN, LISTED);
      expect([remembered, read]).toEqual([0, []]);
      pass(30_000);
      await look.at('gate', RUN, LISTED);
      expect([remembered, read, asked.length]).toEqual([1, ['CI1'], 1]);
    });

    it('that was asked for as late, just before its submit, and not by that of another', async () => {
      const look = lookAt([ofOurs]);
      await look.at('building', RUN, LISTED);
      await look.wasUnsubmitted('CI1', 1_029_999);
      await look.wasUnsubmitted('CI2', 1_030_000);
      expect(remembered).toBe(0);
      await look.wasUnsubmitted('CI1', 1_030_000);
      await look.wasUnsubmitted('CI1', 1_040_000);
      expect([remembered, read]).toEqual([1, []]);
    });
  });
});
