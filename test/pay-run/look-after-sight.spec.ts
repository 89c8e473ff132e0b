import { NotAllowed, NotFound } from '../../src/bank/errors';
import type { BankGateway } from '../../src/bank/gateway';
import { Clock } from '../../src/config/clock';
import type { Database } from '../../src/database/database';
import { MadeElsewhere } from '../../src/pay-run/made-elsewhere';
import { messageIdOf } from '../../src/pay-run/message-id';
import type { EndedInstruction, EndedPayment } from '../../src/pay-run/replaced.store';
import { SecondLook } from '../../src/pay-run/second-look';
import type { SecondReading } from '../../src/pay-run/second-reading';
import { faultsOf, readsOf } from '../support/reads-of';

const INSTRUCTION = '018f0000-0000-7000-8000-000000000001';
const PAID_MINOR = 150_000n;

/** A payment that two people declared not paid, known to the bank as 814 and its row. */
const declared = (rowNo: number, more: Partial<EndedPayment> = {}): EndedPayment => ({
  paymentId: `payment-${rowNo}`,
  rowNo,
  status: 'VOID',
  returned: false,
  decidedStatuses: [],
  bankStatus: null,
  bankIds: [String(814 + rowNo)],
  backMinor: PAID_MINOR,
  mayBeKept: false,
  byWord: false,
  hasMoved: false,
  hasMovedElsewhere: false,
  hasMovedInPart: false,
  ...more,
});
const cameBack = (more: Partial<EndedPayment> = {}) =>
  declared(1, { status: 'SETTLED', returned: true, ...more });
const sighted = (rowNo: number, more: Partial<EndedPayment> = {}) =>
  declared(rowNo, { hasMoved: true, ...more });

interface Shown {
  id: string;
  status: string;
  of?: string;
  messageId?: string;
  amountMinor?: bigint;
}

/** What a look finds at a bank that shows so much of 4711, and its own status where it has it. */
function look(
  status: EndedInstruction['status'],
  payments: EndedPayment[],
  shown: readonly Shown[],
  ofInstruction?: string,
): Promise<SecondReading> {
  const asked: EndedInstruction = {
    instructionId: INSTRUCTION,
    status,
    bankInstructionId: '4711',
    accountId: 'account',
    createdAt: new Date(),
    isShownOtherwise: false,
    payments,
  };
  const all = shown.map(({ id, of = '4711', ...one }) => ({
    wasSettled: false,
    bankInstructionId: of,
    bankPaymentId: id,
    ...one,
  }));
  async function* listed(found: readonly unknown[]) {
    yield* await Promise.resolve(found);
  }
  const gateway = {
    getInstruction: () =>
      ofInstruction === undefined
        ? Promise.reject(new NotFound(404, { raw: '' }))
        : Promise.resolve({ status: ofInstruction }),
    listInstructionPayments: () => listed(all.filter((one) => one.bankInstructionId === '4711')),
    listPayments: () => listed(all),
    getPayment: () => Promise.reject(new NotFound(404, { raw: '' })),
  } as unknown as BankGateway;
  return lookWith(gateway, asked);
}

function lookWith(gateway: BankGateway, asked: EndedInstruction): Promise<SecondReading> {
  const account = { id: 'account', reads: ['INSTRUCTION', 'INSTRUCTION_PAYMENTS', 'PAYMENT_LIST'] };
  const database = {
    inEmployer: (_: string, work: (tx: unknown) => unknown) =>
      work({ manager: { findBy: () => Promise.resolve([account]) } }),
  } as unknown as Database;
  const faults = faultsOf();
  const elsewhere = new MadeElsewhere(gateway, faults, new Clock());
  const second = new SecondLook(database, readsOf(gateway, faults), elsewhere, new Clock());
  return second.at('employer', () => Promise.resolve([asked]));
}

const AS_IT_ENDED = { moved: [], unseen: [] };
const unseen = (...rows: number[]) => ({
  moved: [],
  unseen: rows.map((row) => ({ paymentId: `payment-${row}` })),
});
const moved = (bankStatus: string, ...rows: number[]) => ({
  moved: rows.map((row) => ({ paymentId: `payment-${row}`, bankStatus })),
  unseen: [],
});
const LESS = 'less as returned than was paid';

describe('what a look before has shown to have moved', () => {
  it.each(['INITIATED', 'SUB_IS_VALID'])(
    'is unseen while it is shown as %s again, until people have the word of the bank',
    async (status) => {
      const left = { bankStatus: 'SUB_IS_VALID' };
      const shown = [{ id: '815', status }];
      expect(await look('CLOSED', [sighted(1, left)], shown)).toMatchObject(unseen(1));
      expect(await look('CLOSED', [sighted(1, { ...left, byWord: true })], shown)).toEqual(AS_IT_ENDED);
      expect(await look('CLOSED', [declared(1, left)], shown)).toEqual(AS_IT_ENDED);
    },
  );

  it('is unseen while it is shown in a status of which people decided before that it means unpaid', async () => {
    const decided = { decidedStatuses: ['EXCHANGE_ERROR'] };
    const shown = [{ id: '815', status: 'EXCHANGE_ERROR' }];
    expect(await look('CLOSED', [sighted(1, decided)], shown)).toMatchObject(unseen(1));
    expect(await look('CLOSED', [declared(1, decided)], shown)).toEqual(AS_IT_ENDED);
  });

  it('is as it ended once its own record shows an end without payment', async () => {
    expect(await look('CLOSED', [sighted(1)], [{ id: '815', status: 'FAILED' }])).toEqual(AS_IT_ENDED);
    const failed = sighted(1, { status: 'FAILED', bankStatus: 'FAILED' });
    expect(await look('CLOSED', [failed], [{ id: '815', status: 'FAILED' }])).toEqual(AS_IT_ENDED);
  });

  it('is unseen whatever end others of its instruction have, where nobody is known to have submitted that', async () => {
    const both = [sighted(1), sighted(2)];
    const first = { id: '815', status: 'FAILED' };
    const rests = { id: '816', status: 'INITIATED' };
    expect(await look('VOID', both, [first, rests], 'CANCELLED')).toMatchObject(unseen(2));
    expect(await look('VOID', both, [first])).toMatchObject(unseen(2));
    expect(await look('VOID', both, [first, { ...rests, status: 'CANCELLED' }])).toEqual(AS_IT_ENDED);
  });

  it('is unseen while the instruction it was made in elsewhere shows it as before its submit', async () => {
    const elsewhere = sighted(1, { hasMovedElsewhere: true });
    const again = { id: '990', of: '4799', messageId: messageIdOf(INSTRUCTION, 1) };
    const shown = (status: string) => [
      { id: '815', status: 'CANCELLED' },
      { ...again, status },
    ];
    for (const status of ['CLOSED', 'VOID'] as const) {
      expect(await look(status, [elsewhere], shown('INITIATED'), 'CANCELLED')).toMatchObject(unseen(1));
      expect(await look(status, [elsewhere], shown('CANCELLED'), 'CANCELLED')).toEqual(AS_IT_ENDED);
    }
  });
});

describe('what came back, read again before it is paid again', () => {
  const back = (amountMinor?: bigint, more = {}) => [{ id: '815', status: 'RETURNED', amountMinor, ...more }];

  it('has moved where less is shown as returned than is known to be back', async () => {
    expect(await look('CLOSED', [cameBack()], back(PAID_MINOR))).toEqual(AS_IT_ENDED);
    expect(await look('CLOSED', [cameBack()], back())).toEqual(AS_IT_ENDED);
    const half = await look('CLOSED', [cameBack()], back(PAID_MINOR / 2n));
    expect(half).toMatchObject(moved(LESS, 1));
    expect(half.moved[0]?.backMinor).toBe(PAID_MINOR / 2n);
    const known = cameBack({ backMinor: PAID_MINOR / 2n });
    expect(await look('CLOSED', [known], back(PAID_MINOR / 2n))).toEqual(AS_IT_ENDED);
    expect(await look('CLOSED', [known], back(1n))).toMatchObject(moved(LESS, 1));
  });

  it('has moved so too where it had ended unpaid, or came back elsewhere', async () => {
    const failed = declared(1, { status: 'FAILED', bankStatus: 'FAILED' });
    expect(await look('CLOSED', [failed], back(PAID_MINOR))).toEqual(AS_IT_ENDED);
    expect(await look('CLOSED', [failed], back(1n))).toMatchObject(moved(LESS, 1));
    const elsewhere = back(1n, { id: '990', of: '4799', messageId: messageIdOf(INSTRUCTION, 1) });
    const both = [...back(PAID_MINOR), ...elsewhere];
    expect(await look('CLOSED', [cameBack()], both)).toMatchObject({
      moved: [{ bankStatus: LESS, isElsewhere: true, backMinor: 1n }],
    });
  });

  it('is unseen once a look has shown less of it than is known, whatever is shown since', async () => {
    const one = cameBack({ hasMoved: true, hasMovedInPart: true });
    expect(await look('CLOSED', [one], back(PAID_MINOR))).toMatchObject(unseen(1));
    expect(await look('CLOSED', [{ ...one, byWord: true }], back(PAID_MINOR))).toEqual(AS_IT_ENDED);
  });

  it('is unseen where so much less was shown by a look before, and has moved by less still', async () => {
    const failed = { status: 'FAILED', bankStatus: 'FAILED', returned: false } as const;
    for (const ended of [{}, failed]) {
      const one = cameBack({ ...ended, backMinor: 2n, hasMoved: true, hasMovedInPart: true });
      const shown = await look('CLOSED', [one], back(2n));
      expect(shown).toMatchObject({ ...unseen(1), unseen: [{ isInPart: true }] });
      expect(await look('CLOSED', [{ ...one, byWord: true }], back(2n))).toEqual(AS_IT_ENDED);
      expect(await look('CLOSED', [{ ...one, byWord: true }], back(1n))).toMatchObject(moved(LESS, 1));
    }
  });

  it('is so too where that was made elsewhere', async () => {
    const elsewhere = { id: '990', of: '4799', messageId: messageIdOf(INSTRUCTION, 1) };
    const one = { backMinor: 2n, hasMoved: true, hasMovedElsewhere: true, hasMovedInPart: true };
    const shown = (minor: bigint) => [...back(PAID_MINOR), ...back(minor, elsewhere)];
    expect(await look('CLOSED', [cameBack(one)], shown(2n))).toMatchObject({
      ...unseen(1),
      unseen: [{ isInPart: true }],
    });
    expect(await look('CLOSED', [cameBack({ ...one, byWord: true })], shown(2n))).toEqual(AS_IT_ENDED);
    expect(await look('CLOSED', [cameBack(one)], shown(1n))).toMatchObject({
      moved: [{ bankStatus: LESS, isElsewhere: true }],
    });
  });

  it('is asked about by its instruction where that shows less, and not where another does', async () => {
    const elsewhere = back(1n, { id: '990', of: '4799', messageId: messageIdOf(INSTRUCTION, 1) });
    expect((await look('CLOSED', [cameBack()], back(1n))).moved).toMatchObject([{ isAsked: true }]);
    const [other] = (await look('CLOSED', [cameBack()], [...back(PAID_MINOR), ...elsewhere])).moved;
    expect(other).not.toHaveProperty('isAsked');
    const [paid] = (await look('CLOSED', [cameBack()], [{ id: '815', status: 'SETTLED' }])).moved;
    expect(paid).not.toHaveProperty('isAsked');
  });

  it('has moved while its payee may have kept a part of it, also where it is hidden and people had a word before', async () => {
    const kept = cameBack({ mayBeKept: true, byWord: true });
    expect(await look('CLOSED', [kept], [])).toMatchObject(moved(LESS, 1));
    expect(await look('CLOSED', [kept], [{ id: '815', status: 'SETTLED' }])).toMatchObject(
      moved('SETTLED', 1),
    );
    const refused = () => Promise.reject(new NotAllowed(403, { raw: '' }));
    async function* none() {
      yield* await Promise.reject<never[]>(new NotFound(404, { raw: '' }));
    }
    const gateway = {
      getInstruction: refused,
      listInstructionPayments: none,
      listPayments: none,
      getPayment: refused,
    };
    const asked = { instructionId: INSTRUCTION, bankInstructionId: '4711', accountId: 'account' };
    const hidden = { ...asked, status: 'CLOSED', createdAt: new Date(), isShownOtherwise: false };
    const reading = lookWith(
      gateway as unknown as BankGateway,
      { ...hidden, payments: [kept] } as EndedInstruction,
    );
    expect(await reading).toMatchObject(moved(LESS, 1));
  });
});

describe('what was declared not executed and rests as before, read again before it is paid otherwise', () => {
  const rests = [{ id: '815', status: 'INITIATED' }];

  it.each(['SUBMITTED', 'EXCHANGED', 'SETTLED'])(
    'has moved where its instruction is shown as %s',
    async (status) => {
      expect(await look('CLOSED', [declared(1)], rests, status)).toMatchObject(moved(status, 1));
      expect(await look('CLOSED', [declared(1, { byWord: true })], [], status)).toMatchObject(
        moved(status, 1),
      );
    },
  );

  it('is unseen where that is shown in a status that no document names and nobody decided', async () => {
    expect(await look('CLOSED', [declared(1)], rests, 'QUEUED_CORE')).toMatchObject(unseen(1));
    const decided = declared(1, { decidedStatuses: ['QUEUED_CORE'] });
    expect(await look('CLOSED', [decided], rests, 'QUEUED_CORE')).toEqual(AS_IT_ENDED);
    expect(await look('CLOSED', [decided], rests, 'SETTLED')).toMatchObject(moved('SETTLED', 1));
  });

  it('is as it was declared while its instruction is shown as before that was taken up, as ended, or not at all', async () => {
    for (const status of ['INITIATED', 'SUB_REQUIRED', 'CANCELLED', undefined])
      expect(await look('CLOSED', [declared(1)], rests, status)).toEqual(AS_IT_ENDED);
  });

  it('is as it was declared where its own record shows that, whatever became of others of its instruction', async () => {
    const failed = [{ id: '815', status: 'FAILED' }];
    expect(await look('CLOSED', [declared(1)], failed, 'SETTLED')).toEqual(AS_IT_ENDED);
    const decided = declared(1, { decidedStatuses: ['EXCHANGE_ERROR'] });
    const shown = [{ id: '815', status: 'EXCHANGE_ERROR' }];
    expect(await look('CLOSED', [decided], shown, 'SETTLED')).toEqual(AS_IT_ENDED);
    expect(await look('CLOSED', [decided], [], 'SETTLED')).toMatchObject(unseen(1));
  });
});
