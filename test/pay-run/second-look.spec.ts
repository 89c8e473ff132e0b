import { BankError, NotFound } from '../../src/bank/errors';
import type { BankGateway } from '../../src/bank/gateway';
import type { Database } from '../../src/database/database';
import type { EndedInstruction } from '../../src/pay-run/replaced.store';
import { SecondLook } from '../../src/pay-run/second-look';
import { emptyList } from '../support/empty-list';
import { readsOf } from '../support/reads-of';

const released = {
  instructionId: '018f0000-0000-7000-8000-000000000001',
  status: 'RELEASED',
  bankInstructionId: '4711',
  accountId: 'account',
  createdAt: new Date(),
  payments: [{ paymentId: 'payment', rowNo: 1, status: 'VOID', bankIds: ['815'], shownStatus: null }],
} as unknown as EndedInstruction;

/** At a bank that does not have the instruction any more, and shows its payment so, or not at all. */
function lookAt(status: string | undefined, asked = released, wasSettled = false, instruction?: string) {
  const gone = () =>
    instruction === undefined
      ? Promise.reject(new NotFound(404, { raw: '' }))
      : Promise.resolve({ status: instruction });
  async function* listed() {
    if (status !== undefined)
      yield* await Promise.resolve([{ status, wasSettled, bankInstructionId: '4711', bankPaymentId: '815' }]);
  }
  const gateway = {
    getInstruction: gone,
    listInstructionPayments: listed,
    listPayments: listed,
    getPayment: () => Promise.reject(new NotFound(404, { raw: '' })),
  } as unknown as BankGateway;
  return lookWith(gateway, asked);
}

function lookWith(gateway: BankGateway, asked: EndedInstruction) {
  return lookAgainWith(gateway, asked)();
}

/** Looks of one process. */
function lookAgainWith(gateway: BankGateway, asked: EndedInstruction) {
  const account = { id: 'account', reads: ['INSTRUCTION', 'INSTRUCTION_PAYMENTS', 'PAYMENT_LIST'] };
  const database = {
    inEmployer: (_id: string, work: (tx: unknown) => unknown) =>
      work({ manager: { findBy: () => Promise.resolve([account]) } }),
  } as unknown as Database;
  const look = new SecondLook(database, readsOf(gateway));
  return () => look.at('employer', () => Promise.resolve([asked]));
}

describe('what was given up before its submit, read again before it is paid otherwise', () => {
  it('is as it was left where the bank shows nothing of it', async () => {
    expect(await lookAt(undefined)).toEqual({ moved: [], unseen: [] });
  });

  it('has moved where a payment of it is past the submit', async () => {
    expect(await lookAt('SETTLED')).toMatchObject({ moved: [{ paymentId: 'payment' }], unseen: [] });
  });

  it('has moved where it ended unpaid, and the history of a payment says that it was settled', async () => {
    expect(await lookAt('FAILED')).toEqual({ moved: [], unseen: [] });
    expect(await lookAt('FAILED', released, true)).toMatchObject({ moved: [{ bankStatus: 'SETTLED' }] });
    const cancelled = await lookAt('CANCELLED', released, true, 'CANCELLED');
    expect(cancelled).toMatchObject({ moved: [{ bankStatus: 'SETTLED' }] });
  });

  it('is unseen where its submit was in doubt, and the bank shows a status that no document names', async () => {
    const declared = { ...released, status: 'VOID' } as EndedInstruction;
    const look = (of: EndedInstruction) => lookAt('QUEUED_CORE', of, false, 'QUEUED_CORE');
    expect(await look(declared)).toMatchObject({ moved: [], unseen: [{ paymentId: 'payment' }] });
    expect(await look({ ...released, status: 'ABANDONED' })).toEqual({
      moved: [],
      unseen: [],
    });
  });

  it('is unseen where the bank shows its payment as before, and no instruction', async () => {
    expect(await lookAt('INITIATED')).toMatchObject({ moved: [], unseen: [{ paymentId: 'payment' }] });
  });
});

describe('what was given up before its submit, and the bank fails to show for good', () => {
  it('is unseen while its payments rest as they were, though it may have been submitted since', async () => {
    async function* listed() {
      yield* await Promise.resolve([
        { status: 'INITIATED', bankInstructionId: '4711', bankPaymentId: '815' },
      ]);
    }
    const gateway = {
      getInstruction: () => Promise.reject(new BankError(500, { raw: '' })),
      listInstructionPayments: listed,
      listPayments: listed,
    } as unknown as BankGateway;
    const look = lookAgainWith(gateway, { ...released, status: 'VOID' });
    for (let n = 1; n < 5; n += 1) await expect(look()).rejects.toThrow(BankError);
    expect(await look()).toMatchObject({ moved: [], unseen: [{ paymentId: 'payment' }] });
  });
});

describe('what failed after its submit, read again before it is paid otherwise', () => {
  const failed = {
    ...released,
    status: 'CLOSED',
    payments: [{ ...released.payments[0], status: 'FAILED', bankStatus: 'FAILED', returned: false }],
  } as EndedInstruction;

  it('is as it was while it is shown as failed', async () => {
    expect(await lookAt('FAILED', failed)).toEqual({ moved: [], unseen: [] });
  });

  it('has moved where it was declared not paid, and its history says that it was settled', async () => {
    const [payment] = failed.payments;
    const declared = {
      ...failed,
      payments: [
        { ...payment, status: 'VOID', bankStatus: 'EXCHANGE_ERROR', decidedStatus: 'EXCHANGE_ERROR' },
      ],
    } as EndedInstruction;
    expect(await lookAt('EXCHANGE_ERROR', declared)).toEqual({ moved: [], unseen: [] });
    expect(await lookAt('EXCHANGE_ERROR', declared, true)).toMatchObject({
      moved: [{ bankStatus: 'SETTLED' }],
    });
  });

  it('has moved where its history says that it was settled', async () => {
    expect(await lookAt('FAILED', failed, true)).toMatchObject({ moved: [{ bankStatus: 'SETTLED' }] });
  });
});

const ENDED_UNPAID = {
  ...released,
  status: 'CLOSED',
  payments: [{ ...released.payments[0]!, status: 'FAILED' }],
} as EndedInstruction;

describe('what ended unpaid after its submit, read again before it is paid otherwise', () => {
  it('is as it ended where no list shows it and a read of it alone does', async () => {
    const gone = () => Promise.reject(new NotFound(404, { raw: '' }));
    async function* missing() {
      yield* await Promise.reject<never[]>(new NotFound(404, { raw: '' }));
    }
    const alone = { status: 'FAILED', bankInstructionId: '4711', bankPaymentId: '815' };
    const gateway = {
      getInstruction: gone,
      listInstructionPayments: missing,
      listPayments: missing,
      getPayment: () => Promise.resolve(alone),
    } as unknown as BankGateway;
    expect(await lookWith(gateway, ENDED_UNPAID)).toEqual({ moved: [], unseen: [] });
  });
});

describe('what ended unpaid, and whose lists fail for good', () => {
  it('is unseen where no read of it alone shows it', async () => {
    async function* failing() {
      yield* await Promise.reject<never[]>(new BankError(500, { raw: '' }));
    }
    const gateway = {
      listInstructionPayments: emptyList,
      listPayments: failing,
      getPayment: () => Promise.reject(new NotFound(404, { raw: '' })),
    } as unknown as BankGateway;
    const look = lookAgainWith(gateway, ENDED_UNPAID);
    for (let n = 1; n < 5; n += 1) await expect(look()).rejects.toThrow(BankError);
    expect(await look()).toMatchObject({ moved: [], unseen: [{ paymentId: 'payment' }] });
  });
});

describe('what a list shows no more once it has ended, while it shows others of the instruction', () => {
  const others = { status: 'EXCHANGED', bankInstructionId: '4711', bankPaymentId: '814' };
  /** What is found of 815, which is shown so in the general list, or by itself, and in its own list no more. */
  async function look(asked: EndedInstruction, status: string, by: 'general list' | 'itself') {
    async function* own() {
      yield* await Promise.resolve([others]);
    }
    const one = { ...others, status, bankPaymentId: '815' };
    async function* general() {
      yield* await Promise.resolve(by === 'general list' ? [others, one] : [others]);
    }
    const gateway = {
      getInstruction: () => Promise.resolve({ status: 'INITIATED' }),
      listInstructionPayments: own,
      listPayments: general,
      getPayment: () =>
        by === 'itself' ? Promise.resolve(one) : Promise.reject(new NotFound(404, { raw: '' })),
    } as unknown as BankGateway;
    return lookWith(gateway, asked);
  }
  const ended = {
    ...released,
    status: 'CLOSED',
    payments: [{ ...released.payments[0]!, status: 'FAILED' }],
  } as EndedInstruction;

  it.each(['general list', 'itself'] as const)('is seen as it ended by the other reads (%s)', async (by) => {
    expect(await look(ended, 'FAILED', by)).toEqual({ moved: [], unseen: [] });
    expect(await look(ended, 'SETTLED', by)).toMatchObject({ moved: [{ bankStatus: 'SETTLED' }] });
  });
});
