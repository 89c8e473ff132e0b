import {
  BankError,
  BankUnreachable,
  ContractDrift,
  ListUnreadable,
  NotAllowed,
  NotFound,
  Unauthorised,
} from '../../src/bank/errors';
import type { BankPayment } from '../../src/bank/records';
import type { BankGateway } from '../../src/bank/gateway';
import { Clock } from '../../src/config/clock';
import type { Database } from '../../src/database/database';
import { NOT_PROCESSABLE } from '../../src/domain/bank-status';
import { messageIdOf } from '../../src/pay-run/message-id';
import { MadeElsewhere } from '../../src/pay-run/made-elsewhere';
import type { EndedInstruction } from '../../src/pay-run/replaced.store';
import { SecondLook } from '../../src/pay-run/second-look';
import { emptyList } from '../support/empty-list';
import { faultsOf, readsOf } from '../support/reads-of';

const released = {
  instructionId: '018f0000-0000-7000-8000-000000000001',
  status: 'RELEASED',
  bankInstructionId: '4711',
  accountId: 'account',
  createdAt: new Date(),
  payments: [{ paymentId: 'payment', rowNo: 1, status: 'VOID', bankIds: ['815'], shownStatus: null }],
} as unknown as EndedInstruction;

const LISTS = ['INSTRUCTION', 'INSTRUCTION_PAYMENTS', 'PAYMENT_LIST'];

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
function lookAgainWith(
  gateway: BankGateway,
  asked: EndedInstruction | EndedInstruction[],
  reads = LISTS,
  pageBase: number | null = null,
) {
  const account = { id: 'account', reads, pageBase };
  const database = {
    inEmployer: (_id: string, work: (tx: unknown) => unknown) =>
      work({ manager: { findBy: () => Promise.resolve([account]) } }),
  } as unknown as Database;
  const faults = faultsOf();
  const elsewhere = new MadeElsewhere(gateway, faults, new Clock());
  const look = new SecondLook(database, readsOf(gateway, faults), elsewhere, new Clock());
  return () => look.at('employer', () => Promise.resolve([asked].flat()));
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

  it('is unseen where a look before has shown it past its submit, unless it ended unpaid or people have the word of the bank', async () => {
    const of = (sighted: object) =>
      ({ ...released, payments: [{ ...released.payments[0], ...sighted }] }) as EndedInstruction;
    const unseen = { moved: [], unseen: [{ paymentId: 'payment' }] };
    for (const shown of [undefined, 'INITIATED'])
      expect(await lookAt(shown, of({ hasMoved: true }), false, shown)).toMatchObject(unseen);
    expect(await lookAt('FAILED', of({ hasMoved: true }))).toEqual({ moved: [], unseen: [] });
    expect(await lookAt(undefined, of({ hasMoved: true, byWord: true }))).toEqual({ moved: [], unseen: [] });
  });

  it('is unseen where its submit was in doubt, and the bank shows a status that no document names', async () => {
    const declared = { ...released, status: 'VOID' } as EndedInstruction;
    const look = (of: EndedInstruction) => lookAt('QUEUED_CORE', of, false, 'QUEUED_CORE');
    for (const open of [declared, released])
      expect(await look(open)).toMatchObject({ moved: [], unseen: [{ paymentId: 'payment' }] });
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

describe('several instructions, each of which fails for good, read again before they are paid otherwise', () => {
  const ids = ['4711', '4712', '4713'];
  const several = ids.map((bankInstructionId, n) => ({
    ...released,
    bankInstructionId,
    payments: [{ ...released.payments[0]!, paymentId: bankInstructionId, bankIds: [String(815 + n)] }],
  })) as EndedInstruction[];

  const OWN = ['INSTRUCTION', 'INSTRUCTION_PAYMENTS'];

  function lookWhereEach(answer: Error) {
    const getInstruction = jest.fn(() => Promise.reject(answer));
    const getPayment = () => Promise.reject(new NotFound(404, { raw: '' }));
    const gateway = { getInstruction, listInstructionPayments: emptyList, getPayment };
    return { getInstruction, look: lookAgainWith(gateway as unknown as BankGateway, several, OWN) };
  }

  it.each([new BankError(409, { raw: '' }), new ContractDrift(['status'])])(
    'are unseen at one time, not each after the other (%p)',
    async (answer) => {
      const { look } = lookWhereEach(answer);
      for (let n = 1; n < 5; n += 1) await expect(look()).rejects.toBe(answer);
      const unseen = ids.map((paymentId) => ({ paymentId }));
      expect(await look()).toMatchObject({ moved: [], unseen });
    },
  );

  it.each([new BankUnreachable('total-timeout', true), new Unauthorised(401, { raw: '' })])(
    'are not asked for behind one that says something of all (%p)',
    async (answer) => {
      const { look, getInstruction } = lookWhereEach(answer);
      await expect(look()).rejects.toBe(answer);
      expect(getInstruction).toHaveBeenCalledTimes(1);
    },
  );
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
        { ...payment, status: 'VOID', bankStatus: 'EXCHANGE_ERROR', decidedStatuses: ['EXCHANGE_ERROR'] },
      ],
    } as EndedInstruction;
    expect(await lookAt('EXCHANGE_ERROR', declared)).toEqual({ moved: [], unseen: [] });
    expect(await lookAt('EXCHANGE_ERROR', declared, true)).toMatchObject({
      moved: [{ bankStatus: 'SETTLED' }],
    });
  });

  it('has moved as what was paid, whatever else the bank shows under its message id', async () => {
    async function* listed() {
      const messageId = messageIdOf(failed.instructionId, 1);
      const one = (status: string, bankPaymentId: string) => ({
        status,
        bankInstructionId: '4711',
        bankPaymentId,
        messageId,
      });
      yield* await Promise.resolve([one('EXCHANGED', '815'), one('SETTLED', '816')]);
    }
    const lists = { listInstructionPayments: listed, listPayments: listed } as unknown as BankGateway;
    expect(await lookWith(lists, failed)).toMatchObject({ moved: [{ bankStatus: 'SETTLED' }] });
  });

  it('has moved where its history says that it was settled', async () => {
    expect(await lookAt('FAILED', failed, true)).toMatchObject({ moved: [{ bankStatus: 'SETTLED' }] });
  });

  it('has moved where another payment of its instruction was shown otherwise than it was sent', async () => {
    expect(await lookAt('FAILED', { ...failed, isShownOtherwise: true })).toMatchObject({
      moved: [{ paymentId: 'payment', bankStatus: 'a payment otherwise than it was sent', isAsked: true }],
    });
  });

  it('has moved where the bank goes on with it, whatever people have in writing', async () => {
    const said = { ...failed, payments: [{ ...failed.payments[0]!, byWord: true }] };
    expect(await lookAt('SUB_IS_VALID', said)).toMatchObject({ moved: [{ bankStatus: 'SUB_IS_VALID' }] });
  });

  it('has moved where a payment that bears its message id was settled, whatever people have in writing', async () => {
    async function* listed() {
      const messageId = messageIdOf(failed.instructionId, 1);
      const one = { status: 'SETTLED', bankInstructionId: '4711', bankPaymentId: '816', messageId };
      yield* await Promise.resolve([one]);
    }
    const lists = { listInstructionPayments: listed, listPayments: listed } as unknown as BankGateway;
    const said = { ...failed, payments: [{ ...failed.payments[0]!, bankIds: [] as const, byWord: true }] };
    expect(await lookWith(lists, said)).toMatchObject({ moved: [{ bankStatus: 'SETTLED' }], unseen: [] });
  });
});

describe('what was not processable, read again before it is paid otherwise', () => {
  const left = {
    ...released,
    status: 'CLOSED',
    payments: [{ ...released.payments[0], status: 'FAILED', bankStatus: NOT_PROCESSABLE, returned: false }],
  } as EndedInstruction;

  it('is as it ended in that group, and unseen in a list that leaves its group out', async () => {
    const lookIn = (groupStatus?: string, status = 'SUB_STARTED') => {
      async function* listed() {
        const one = { status, bankInstructionId: '4711', bankPaymentId: '815' };
        yield* await Promise.resolve([{ ...one, ...(groupStatus && { groupStatus }) }]);
      }
      const lists = { listInstructionPayments: listed, listPayments: listed } as unknown as BankGateway;
      return lookWith(lists, left);
    };
    expect(await lookIn('NOTPROCESSABLE')).toEqual({ moved: [], unseen: [] });
    expect(await lookIn()).toMatchObject({ moved: [], unseen: [{ paymentId: 'payment' }] });
    expect(await lookIn(undefined, 'EXCHANGED')).toMatchObject({ moved: [{ bankStatus: 'EXCHANGED' }] });
  });
});

describe('what came back, read again before it is paid otherwise', () => {
  const back = (mayBeKept: boolean) =>
    ({
      ...released,
      status: 'CLOSED',
      payments: [
        {
          ...released.payments[0],
          status: 'SETTLED',
          bankStatus: 'RETURNED',
          returned: true,
          mayBeKept,
        },
      ],
    }) as EndedInstruction;

  it('is as it was while it is shown as returned, though it was settled before', async () => {
    expect(await lookAt('RETURNED', back(false), true)).toEqual({ moved: [], unseen: [] });
  });

  it('has moved where less of it came back and nobody has said that its payee kept nothing', async () => {
    expect(await lookAt('RETURNED', back(true))).toMatchObject({
      moved: [{ bankStatus: 'less as returned than was paid' }],
    });
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

describe('what the bank fails to tell for good, read again before it is paid otherwise', () => {
  const raw = { raw: '' };
  const broken = new BankError(500, raw);
  const gone = new NotFound(404, raw);
  const unseen = { moved: [], unseen: [{ paymentId: 'payment' }] };
  const [payment] = released.payments;
  const saidUnpaid = {
    ...ENDED_UNPAID,
    payments: [{ ...payment!, status: 'FAILED', byWord: true }],
  } as EndedInstruction;

  /** A bank that answers so for the instruction, for each list, and for payments by themselves, until it answers otherwise. */
  function bankOf(answers: Record<'instruction' | 'own' | 'general' | 'alone', string | Error>) {
    const shown = (status: string) => ({ status, bankInstructionId: '4711', bankPaymentId: '815' });
    async function* listed(what: string | Error) {
      if (what instanceof Error) throw what;
      yield* await Promise.resolve(what === '' ? [] : [shown(what)]);
    }
    const one = (what: string | Error) =>
      what instanceof Error ? Promise.reject(what) : Promise.resolve(shown(what));
    const gateway = {
      getInstruction: () => one(answers.instruction),
      listInstructionPayments: () => listed(answers.own),
      listPayments: () => listed(answers.general),
      getPayment: () => one(answers.alone),
    } as unknown as BankGateway;
    return gateway;
  }

  /** What is found once each list has failed for good: the general one is not read the first time that its own fails. */
  async function forGood(look: () => Promise<unknown>): Promise<unknown> {
    for (let n = 1; n < 6; n += 1) await look().catch(() => undefined);
    return look();
  }

  it('is waited for while another read fails for a moment, whatever people have in writing', async () => {
    const answers = { instruction: gone, own: broken, general: 'SETTLED' as string | Error, alone: gone };
    const look = lookAgainWith(bankOf(answers), saidUnpaid);
    expect(await forGood(look)).toMatchObject({ moved: [{ bankStatus: 'SETTLED' }] });
    const slow = new BankUnreachable('total-timeout', true);
    answers.general = slow;
    for (let n = 1; n < 5; n += 1) await expect(look()).rejects.toBe(slow);
    expect(await look()).toEqual({ moved: [], unseen: [] });
  });

  it.each([new ContractDrift(['body']), new BankError(409, raw)])(
    'is waited for while its list shows nothing for a moment, though the instruction itself is refused for good (%s)',
    async (moment) => {
      const [one] = released.payments;
      const said = { ...released, payments: [{ ...one!, byWord: true }] } as EndedInstruction;
      const answers = {
        instruction: new BankError(405, raw),
        own: 'INITIATED' as string | Error,
        general: '',
        alone: gone,
      };
      const look = lookAgainWith(bankOf(answers), said);
      expect(await forGood(look)).toEqual({ moved: [], unseen: [] });
      answers.own = moment;
      await expect(look()).rejects.toBe(moment);
      answers.own = 'EXCHANGED';
      expect(await look()).toMatchObject({ moved: [{ bankStatus: 'EXCHANGED' }] });
    },
  );

  it('is waited for while one payment fails so by itself, whatever people have in writing', async () => {
    const away = new BankError(503, { raw: '' });
    const answers = { instruction: gone, own: broken, general: broken, alone: 'SETTLED' as string | Error };
    const reads = ['INSTRUCTION_PAYMENTS', 'PAYMENT'];
    const look = lookAgainWith(bankOf(answers), saidUnpaid, reads);
    expect(await forGood(look)).toMatchObject({ moved: [{ bankStatus: 'SETTLED' }] });
    answers.alone = away;
    await expect(look()).rejects.toBe(away);
  });

  it('is waited for while its own list fails for a moment, and the general one lacks it', async () => {
    const look = lookAgainWith(
      bankOf({ instruction: gone, own: broken, general: '', alone: gone }),
      saidUnpaid,
    );
    for (let n = 1; n < 5; n += 1) await expect(look()).rejects.toBe(broken);
    expect(await look()).toEqual({ moved: [], unseen: [] });
  });

  it.each([
    ['the general one is not found', gone],
    ['the general one is refused', new NotAllowed(403, { raw: '' })],
    ['the general one is not offered', new BankError(405, { raw: '' })],
    ['the general one cannot be used', new ContractDrift(['x'])],
    ['the general one cannot be read to its end', new ListUnreadable('repeats')],
    ['the general one is empty', ''],
    ['the general one fails too', broken],
  ])('is unseen where its own list fails, and %s', async (_, general) => {
    for (const asked of [released, ENDED_UNPAID]) {
      const bank = bankOf({ instruction: gone, own: broken, general, alone: gone });
      expect(await forGood(lookAgainWith(bank, asked))).toMatchObject(unseen);
    }
  });

  it('is unseen where its own list fails, and it is refused by itself', async () => {
    const refused = new NotAllowed(403, { raw: '' });
    const bank = bankOf({ instruction: gone, own: broken, general: gone, alone: refused });
    const look = lookAgainWith(bank, released, ['INSTRUCTION', 'INSTRUCTION_PAYMENTS', 'PAYMENT']);
    expect(await forGood(look)).toMatchObject(unseen);
  });

  it.each(['ABANDONED', 'VOID'])(
    'is unseen though its instruction is shown as cancelled or failed (%s)',
    async (status) => {
      for (const instruction of ['CANCELLED', 'FAILED']) {
        const bank = bankOf({ instruction, own: broken, general: broken, alone: gone });
        const look = lookAgainWith(bank, { ...released, status } as EndedInstruction);
        expect(await forGood(look)).toMatchObject(unseen);
      }
    },
  );
});

describe('what the bank shows so that it cannot be used, read again before it is paid otherwise', () => {
  const drift = new ContractDrift(['status']);
  const gone = new NotFound(404, { raw: '' });
  const unseen = [{ paymentId: 'payment' }];

  function lookWhere(asked: EndedInstruction, instruction: Error, list: Error) {
    async function* listed() {
      yield* await Promise.reject<never[]>(list);
    }
    const gateway = {
      getInstruction: () => Promise.reject(instruction),
      listInstructionPayments: listed,
      getPayment: () => Promise.reject(gone),
    } as unknown as BankGateway;
    return lookAgainWith(gateway, asked, ['INSTRUCTION', 'INSTRUCTION_PAYMENTS']);
  }

  it.each([
    ['its list after it ended', ENDED_UNPAID, gone, drift],
    ['its list after it was given up', released, gone, drift],
    ['a list that repeats itself', ENDED_UNPAID, gone, new ListUnreadable('repeats')],
    ['itself', released, drift, gone],
  ])(
    'is unseen once that is so for good (%s), unless people have it in writing',
    async (_, asked, instruction, list) => {
      const said = { ...asked, payments: [{ ...asked.payments[0]!, byWord: true }] } as EndedInstruction;
      for (const [one, left] of [
        [asked, unseen],
        [said, []],
      ] as const) {
        const look = lookWhere(one, instruction, list);
        const failure = list === gone ? instruction : list;
        for (let n = 1; n < 5; n += 1) await expect(look()).rejects.toBe(failure);
        expect(await look()).toMatchObject({ moved: [], unseen: left });
      }
    },
  );
});

describe('what ended unpaid, and that the general list shows once more under its message id elsewhere', () => {
  const messageId = messageIdOf(released.instructionId, 1);
  const again = {
    status: 'SETTLED',
    wasSettled: true,
    bankInstructionId: '4799',
    bankPaymentId: '990',
    messageId,
  };

  function lookWhere(
    general: (Partial<BankPayment> | Error)[],
    asked = ENDED_UNPAID,
    reads = LISTS,
    pageBase: number | null = null,
  ) {
    const own = { status: 'FAILED', wasSettled: false, bankInstructionId: '4711', bankPaymentId: '815' };
    async function* owned() {
      yield* await Promise.resolve([own]);
    }
    async function* listed() {
      for (const one of general) {
        if (one instanceof Error) throw one;
        yield await Promise.resolve({ ...again, ...one });
      }
    }
    const listPayments = jest.fn(listed);
    const gateway = {
      getInstruction: () => Promise.resolve({ status: 'CANCELLED' }),
      listInstructionPayments: owned,
      listPayments,
    } as unknown as BankGateway;
    return { look: lookAgainWith(gateway, asked, reads, pageBase), listPayments };
  }

  it('has moved, unless that ended unpaid too, came in, is a fee, or is of its own instruction', async () => {
    const { look } = lookWhere([{}]);
    expect(await look()).toEqual({
      moved: [
        {
          paymentId: 'payment',
          instructionId: released.instructionId,
          bankInstructionId: '4711',
          bankStatus: 'SETTLED',
          isElsewhere: true,
        },
      ],
      unseen: [],
    });
    for (const otherwise of [
      { status: 'FAILED', wasSettled: false },
      { direction: 'INWARD' },
      { transactionType: 'FEE' },
      { bankInstructionId: '4711' },
      { bankPaymentId: '815' },
    ])
      expect(await lookWhere([otherwise]).look()).toEqual({ moved: [], unseen: [] });
  });

  it('is unseen once where neither list shows any more what a look before has shown', async () => {
    const gateway = {
      listInstructionPayments: emptyList,
      listPayments: emptyList,
      getPayment: () => Promise.reject(new NotFound(404, { raw: '' })),
    } as unknown as BankGateway;
    const shown = { ...ENDED_UNPAID, payments: [{ ...ENDED_UNPAID.payments[0]!, hasMovedElsewhere: true }] };
    expect((await lookWith(gateway, shown)).unseen).toHaveLength(1);
  });

  it('may move where it is there as before a submit, unless what was given up is there twice', async () => {
    const rests = { status: 'INITIATED', wasSettled: false };
    expect(await lookWhere([rests]).look()).toMatchObject({ moved: [{ bankStatus: 'INITIATED' }] });
    expect(await lookWhere([rests], released).look()).toEqual({ moved: [], unseen: [] });
    expect(await lookWhere([{}], released).look()).toMatchObject({ moved: [{ bankStatus: 'SETTLED' }] });
  });

  it.each([
    new BankError(500, { raw: '' }),
    new NotAllowed(403, { raw: '' }),
    new BankError(405, { raw: '' }),
    new BankError(400, { raw: '' }),
  ])(
    'is waited for while that list fails or is refused for a moment, and is as it ended then (%s)',
    async (failure) => {
      const { look } = lookWhere([failure]);
      for (let n = 1; n < 5; n += 1)
        await expect(look()).rejects.toMatchObject({ status: failure.status, isForGood: false });
      expect(await look()).toEqual({ moved: [], unseen: [] });
    },
  );

  it.each([new NotFound(404, { raw: '' }), new ListUnreadable('too-many-pages')])(
    'is as it ended where that list was never there, or is too long (%s)',
    async (failure) => {
      expect(await lookWhere([failure]).look()).toEqual({ moved: [], unseen: [] });
    },
  );

  it('is waited for where that list is not found, and was seen to show some', async () => {
    const { look } = lookWhere([new NotFound(404, { raw: '' })], ENDED_UNPAID, LISTS, 0);
    await expect(look()).rejects.toThrow(BankError);
  });

  it('is not searched for besides where no such list may be read, and not long before it was made', async () => {
    const none = lookWhere([{}], ENDED_UNPAID, ['INSTRUCTION', 'INSTRUCTION_PAYMENTS']);
    expect(await none.look()).toEqual({ moved: [], unseen: [] });
    expect(none.listPayments).not.toHaveBeenCalled();
    const years = { ...ENDED_UNPAID, createdAt: new Date(Date.now() - 1_000 * 86_400_000) };
    const { look, listPayments } = lookWhere([{}], years);
    await look();
    const [filter] = listPayments.mock.calls[0] as unknown as [{ from: string }];
    expect(Date.now() - Date.parse(filter.from)).toBeLessThan(61 * 86_400_000);
  });
});

describe('what the bank shows as paid before a read of the same look fails', () => {
  const raw = { raw: '' };
  type Answer = readonly [shown: Partial<BankPayment>[], failure?: Error];
  const paid: Partial<BankPayment> = { status: 'SETTLED' };
  const failed: Partial<BankPayment> = { status: 'FAILED' };
  const again = { status: 'SETTLED', bankInstructionId: '5000', bankPaymentId: '999' };
  const twin = { ...again, messageId: messageIdOf(released.instructionId, 1) };
  const gone = () => Promise.reject(new NotFound(404, raw));

  /** Looks of one process at a bank whose lists answer so; the general one by whether it is asked from a date on. */
  function looksAt(
    reads: string[],
    own: () => Answer,
    general: (isDated: boolean) => Answer = () => [[]],
    asked = ENDED_UNPAID,
    others: object = {},
  ) {
    async function* listed([shown, failure]: Answer, isWanted: (one: unknown) => boolean = () => true) {
      for (const one of shown) {
        const record = { wasSettled: false, bankInstructionId: '4711', bankPaymentId: '815', ...one };
        if (isWanted(record)) yield await Promise.resolve(record);
      }
      if (failure) throw failure;
    }
    const gateway = {
      getInstruction: gone,
      listInstructionPayments: () => listed(own()),
      listPayments: ({ from }: { from?: string }, isWanted: (one: unknown) => boolean) =>
        listed(general(from !== undefined), isWanted),
      getPayment: gone,
      ...others,
    } as unknown as BankGateway;
    return lookAgainWith(gateway, asked, reads);
  }
  const moved = { moved: [{ bankStatus: 'SETTLED' }] };
  const OWN = ['INSTRUCTION', 'INSTRUCTION_PAYMENTS'];
  const broken = new BankError(500, raw);

  it('is told though the search of the general list fails', async () => {
    expect(
      await looksAt(
        LISTS,
        () => [[paid]],
        () => [[], broken],
      )(),
    ).toMatchObject(moved);
  });

  it.each([
    ['for a moment', 1],
    ['for good', 8],
  ])('is told though its own list fails behind it, %s', async (_how, looks) => {
    const look = looksAt(OWN, () => [[paid], broken]);
    for (let n = 1; n <= looks; n += 1) expect(await look()).toMatchObject(moved);
  });

  it('is told though the general list, from a date on the only one, fails behind it for good', async () => {
    const look = looksAt(
      ['INSTRUCTION', 'PAYMENT_LIST'],
      () => [[]],
      () => [[paid], broken],
    );
    for (let n = 1; n < 8; n += 1) expect(await look()).toMatchObject(moved);
  });

  it('is told though only the whole general list shows it, made once more elsewhere, where that is the only list', async () => {
    const look = looksAt(
      ['INSTRUCTION', 'PAYMENT_LIST'],
      () => [[]],
      (isDated) => [isDated ? [] : [twin]],
    );
    expect(await look()).toMatchObject(moved);
  });

  it('is told though its instruction, which it is left to besides, cannot be read', async () => {
    const left = {
      ...released.payments[0]!,
      status: 'VOID',
      bankStatus: 'EXCHANGED',
      decidedStatuses: ['EXCHANGED'],
    };
    const other = { ...left, paymentId: 'other', rowNo: 2, bankIds: ['816'] };
    const declared = { ...ENDED_UNPAID, payments: [left, other] } as EndedInstruction;
    const getInstruction = () => Promise.reject(broken);
    const shown = [paid, { status: 'EXCHANGED', bankPaymentId: '816' }];
    const look = looksAt(OWN, () => [shown], undefined, declared, { getInstruction });
    expect(await look()).toMatchObject(moved);
  });

  it('is told of what was never submitted, too', async () => {
    expect(await looksAt(OWN, () => [[paid], broken], undefined, released)()).toMatchObject(moved);
  });

  it('is told by a read of it alone, though that of another fails', async () => {
    const other = { ...ENDED_UNPAID.payments[0]!, paymentId: 'other', rowNo: 2, bankIds: ['816'] };
    const two = { ...ENDED_UNPAID, payments: [ENDED_UNPAID.payments[0]!, other] } as EndedInstruction;
    const one = { ...paid, wasSettled: true, bankInstructionId: '4711', bankPaymentId: '815' };
    const getPayment = ([id]: readonly string[]) =>
      id === '815' ? Promise.resolve(one) : Promise.reject(broken);
    const look = looksAt(['INSTRUCTION', 'PAYMENT'], () => [[]], undefined, two, { getPayment });
    expect(await look()).toMatchObject(moved);
  });

  it('is waited for where only money that came in is shown so', async () => {
    const inward = { ...twin, bankInstructionId: undefined, direction: 'INWARD' };
    await expect(looksAt(OWN, () => [[inward], broken])()).rejects.toBe(broken);
  });

  it('is waited for where nothing is shown as paid: that it failed proves nothing of others', async () => {
    await expect(looksAt(OWN, () => [[failed], broken])()).rejects.toBe(broken);
    const look = looksAt(OWN, () => [[failed], broken]);
    for (let n = 1; n < 5; n += 1) await look().catch(() => undefined);
    expect(await look()).toMatchObject({ moved: [], unseen: [{ paymentId: 'payment' }] });
  });
});
