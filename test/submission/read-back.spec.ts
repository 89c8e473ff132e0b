import { createHash } from 'crypto';
import {
  BankClientError,
  BankError,
  ContractDrift,
  FirstPageFailed,
  ListUnreadable,
  NotAllowed,
  NotFound,
  ReadFails,
  Unauthorised,
} from '../../src/bank/errors';
import type { BankGateway } from '../../src/bank/gateway';
import type { Turn } from '../../src/bank/session';
import type { Config } from '../../src/config/env';
import type { Database } from '../../src/database/database';
import type { Claim } from '../../src/database/leases';
import type { PersonalData } from '../../src/database/personal-data';
import { Abandonment } from '../../src/submission/abandonment';
import { InstructionReader, shownUnclear } from '../../src/submission/read-back';
import { referenceOf } from '../../src/submission/prepared-calls';
import { expectedRows, type PayableRow, type Work } from '../../src/submission/work';
import type { BankInstruction, BankPayment } from '../../src/bank/records';
import { PaymentsAlone } from '../../src/employer/payments-alone';
import { faultsOf, readsOf } from '../support/reads-of';

/** What is sealed is the text itself. */
const hexHash = (text: string) => createHash('sha256').update(text).digest('hex');
const personal = { open: (sealed: string) => sealed, hexHash } as unknown as PersonalData;

const raw = { raw: '' };
const gone = new NotFound(404, raw);
const refused = new NotAllowed(403, raw);

/** An unsubmitted instruction, at a bank that answers so for it, its own list, and the list of everybody (none where empty). */
function reading(
  instruction: string | Error,
  own: string | Error,
  general: string | Error,
  wasSettled = false,
  shown: Partial<BankInstruction> = {},
  payment: Partial<BankPayment> | Partial<BankPayment>[] = {},
  known: { id: string; other: null }[] = [],
) {
  async function* listed(what: string | Error) {
    if (what instanceof Error) throw what;
    if (what === '') return;
    const named = { status: what, wasSettled, bankInstructionId: '4711', messageId: undefined };
    yield* await Promise.resolve([payment].flat().map((one) => ({ ...named, ...one })));
  }
  const gateway = {
    getInstruction: () =>
      instruction instanceof Error
        ? Promise.reject(instruction)
        : Promise.resolve({ ...shown, status: instruction }),
    listInstructionPayments: () => listed(own),
    listPayments: () => listed(general),
    getPayment: jest.fn(() => Promise.reject(gone)),
  };
  const reads = readsOf(gateway);
  const database = {
    inEmployer: (_id: string, work: (tx: unknown) => unknown) =>
      work({ query: () => Promise.resolve(known) }),
  } as unknown as Database;
  const alone = new PaymentsAlone(gateway as unknown as BankGateway, faultsOf());
  return Object.assign(new InstructionReader(database, reads, alone, personal), { gateway });
}

const work = {
  account: {
    reads: ['INSTRUCTION', 'INSTRUCTION_PAYMENTS', 'PAYMENT_LIST'],
    ibanSealed: 'DE89370400440532013000',
  },
  planned: { rowCount: 0, totalMinor: 0n, runVersion: 1, ordinal: 1 },
  run: { id: '018f0000-0000-7000-8000-000000000002', currency: 'EUR', executionDate: '2026-12-01' },
  instruction: {
    id: '018f0000-0000-7000-8000-000000000001',
    employerId: 'employer',
    bankInstructionId: '4711',
    bankStatus: 'INITIATED',
    attempt: 2,
    createdAt: new Date(),
  },
} as unknown as Work;
const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

describe('an unsubmitted instruction that is read back', () => {
  it.each([
    ['CANCELLED', gone, gone],
    ['CANCELLED', refused, refused],
  ])('is dead where the bank says so and shows no payment of it (%s, %s)', async (shown, own, general) => {
    expect(await reading(shown, own, general).readBack(work, [])).toMatchObject({ kind: 'dead' });
  });

  it.each([new ListUnreadable('nothing-shown'), new FirstPageFailed(500, raw)])(
    'shows no payment where its list may be empty, unless it counts some itself (%s)',
    async (nothing) => {
      const counting = (calculatedCount: number | undefined) =>
        reading('INITIATED', nothing, nothing, false, { calculatedCount }).readBack(
          { ...work, planned: { ...work.planned, rowCount: 1 } },
          [],
        );
      expect(await counting(0)).toMatchObject({ kind: 'fewer' });
      expect(await counting(undefined)).toMatchObject({ kind: 'equal' });
      expect(await failure(counting(1))).toBe(nothing);
    },
  );

  it('is asked of a few payments each by itself while it waits at the bank, and of each once it is gone', async () => {
    const known = Array.from({ length: 20 }, (_, n) => ({ id: String(901 + n), other: null }));
    const account = { ...work.account, reads: [...work.account.reads, 'PAYMENT' as const] };
    for (const [shown, kind, asked] of [
      ['INI_STARTED', 'wait', 5],
      [gone, 'gone', 20],
    ] as const) {
      const reader = reading(shown, '', '', false, {}, {}, known);
      expect(await reader.readBack({ ...work, account }, [])).toMatchObject({ kind });
      expect(reader.gateway.getPayment).toHaveBeenCalledTimes(asked);
    }
  });

  it('has moved once it was seen to, whatever an older read shows', async () => {
    const seen = { ...work, instruction: { ...work.instruction, bankStatus: 'SUB_STARTED' } } as Work;
    const reader = reading('INITIATED', gone, gone);
    expect(await reader.readBack(seen, [])).toEqual({ kind: 'moved', bankStatus: 'SUB_STARTED' });
    expect(await reader.submittedBefore(seen)).toEqual({ moved: 'SUB_STARTED', isUnclear: false });
  });

  it('has moved where the last look shows so, though the next read is older', async () => {
    const reader = reading('INITIATED', gone, gone);
    expect(await reader.readAgain(work, [], {} as Turn)).toBeUndefined();
    const { getInstruction } = reader.gateway;
    reader.gateway.getInstruction = () => {
      reader.gateway.getInstruction = getInstruction;
      return Promise.resolve({ status: 'SUB_STARTED' });
    };
    expect(await reader.readAgain(work, [], {} as Turn)).toEqual({
      kind: 'moved',
      bankStatus: 'SUB_STARTED',
    });
  });

  it('is gone where the bank shows neither it nor a payment of it', async () => {
    expect(await reading(gone, gone, gone).readBack(work, [])).toEqual({ kind: 'gone' });
  });

  it('is gone where all that is shown of it was ended before a submit', async () => {
    expect(await reading(gone, gone, 'INI_NOT_IS_VALID').readBack(work, [])).toEqual({ kind: 'gone' });
  });

  it.each([
    ['INITIATED', gone],
    [gone, 'INITIATED'],
    [refused, 'INITIATED'],
  ])(
    'is waited for where it is not shown, and its payments rest as they were (%s, %s)',
    async (own, general) => {
      const reader = reading(gone, own, general);
      expect(await reader.readBack(work, [])).toEqual({ kind: 'unclear', unknown: undefined });
      expect(await reader.submittedBefore(work)).toEqual({ moved: undefined, isUnclear: true });
    },
  );

  it.each(['INITIATED', gone])(
    'is waited for where the bank fails to show it for good, whatever rests as it was (%s)',
    async (own) => {
      const reader = reading(new BankError(500, raw), own, gone);
      for (let n = 1; n < 5; n += 1) await failure(reader.readBack(work, []));
      expect(await reader.readBack(work, [])).toEqual({ kind: 'unclear', failing: 'instruction' });
      const before = { moved: undefined, isUnclear: true, failing: 'instruction' };
      if (own === 'INITIATED') expect(await reader.submittedBefore(work)).toEqual(before);
      const words = 'an error again and again, and not the instruction';
      expect(shownUnclear({ failing: 'instruction' })).toBe(words);
    },
  );

  // The general list is not read the first time that its own fails.
  it.each<[Error, number]>([
    [new BankError(500, raw), 6],
    [gone, 5],
  ])(
    'is waited for where it is not found, and its payments cannot be read for good (%s)',
    async (own, times) => {
      const reader = reading(gone, own, new BankError(500, raw));
      for (let n = 1; n < times; n += 1)
        expect(await failure(reader.readBack(work, []))).toBeInstanceOf(BankError);
      expect(await reader.readBack(work, [])).toEqual({ kind: 'unclear', failing: 'payments' });
      const before = { moved: undefined, isUnclear: true, failing: 'payments' };
      expect(await reader.submittedBefore(work)).toEqual(before);
      const words = 'an error again and again, and not all payments of this instruction';
      expect(shownUnclear({ failing: 'payments' })).toBe(words);
    },
  );

  it('is waited for where it fails for good, and so do its payments', async () => {
    const broken = new BankError(500, raw);
    const reader = reading(broken, broken, broken);
    for (let n = 1; n < 10; n += 1) await failure(reader.readBack(work, []));
    expect(await reader.readBack(work, [])).toEqual({ kind: 'unclear', failing: 'instruction' });
  });

  it.each<[Error | string, number]>([
    [new BankError(409, raw), 9],
    [new ContractDrift(['x']), 9],
    [new BankError(500, raw), 10],
    ['', 5],
  ])(
    'is not taken for dead where it is shown as ended, and its payments fail for good (%s)',
    async (lists, times) => {
      const reader = reading('CANCELLED', lists, lists, false, {}, {}, [{ id: '901', other: null }]);
      reader.gateway.getPayment.mockRejectedValue(new BankError(500, raw));
      for (let n = 1; n < times; n += 1)
        expect(await failure(reader.readBack(work, []))).toBeInstanceOf(BankClientError);
      expect(await reader.readBack(work, [])).toEqual({ kind: 'unclear', failing: 'payments' });
    },
  );

  it.each(['', 'INI_INT_CTRL_FAILED'])(
    'is not taken for gone where payments fail for good by themselves, whatever a list shows of others (%s)',
    async (listed) => {
      const known = ['901', '902'].map((id) => ({ id, other: null }));
      const reader = reading(gone, listed, listed, false, {}, { bankPaymentId: '901' }, known);
      reader.gateway.getPayment.mockRejectedValue(new BankError(500, raw));
      for (let n = 1; n < 5; n += 1)
        expect(await failure(reader.readBack(work, []))).toBeInstanceOf(BankError);
      expect(await reader.readBack(work, [])).toEqual({ kind: 'unclear', failing: 'payments' });
    },
  );

  it('moved where the bank fails to show it for good, and shows a payment that did', async () => {
    const reader = reading(new BankError(500, raw), 'SETTLED', gone);
    for (let n = 1; n < 5; n += 1) await failure(reader.readBack(work, []));
    expect(await reader.readBack(work, [])).toEqual({ kind: 'moved', bankStatus: 'SETTLED' });
  });

  it.each([
    ['PRO_MANUAL_REVIEW', gone],
    [gone, 'PRO_MANUAL_REVIEW'],
  ])(
    'may have been submitted where a status is shown that no document names (%s, %s)',
    async (shown, own) => {
      expect(await reading(shown, own, gone).submittedBefore(work)).toEqual({
        moved: undefined,
        isUnclear: true,
        unknown: 'PRO_MANUAL_REVIEW',
      });
    },
  );

  it.each([
    ['PRO_MANUAL_REVIEW', gone],
    ['CANCELLED', 'PRO_MANUAL_REVIEW'],
    [gone, 'PRO_MANUAL_REVIEW'],
  ])('is waited for where such a status is shown, and not taken for ended (%s, %s)', async (shown, own) => {
    const unclear = { kind: 'unclear', unknown: 'PRO_MANUAL_REVIEW' };
    expect(await reading(shown, own, gone).readBack(work, [])).toEqual(unclear);
  });

  it('is waited for where it may not be read, and its payments show such a status', async () => {
    const payment = { bankPaymentId: '77', amountMinor: 100n, currency: 'EUR', iban: 'BE68539007547034' };
    const row = { rowNo: 1, ...payment, bankTransactionId: null } as unknown as PayableRow;
    const hidden = {
      ...work,
      account: { ...work.account, reads: ['INSTRUCTION_PAYMENTS'] },
      planned: { ...work.planned, rowCount: 1, totalMinor: 100n },
    } as Work;
    const shows = (status: string) =>
      reading(refused, status, gone, false, {}, { ...payment, ids: ['77'] }).readBack(hidden, [row]);
    expect(await shows('INITIATED')).toMatchObject({ kind: 'equal' });
    expect(await shows('PRO_MANUAL_REVIEW')).toEqual({ kind: 'unclear', unknown: 'PRO_MANUAL_REVIEW' });
  });

  it('is told of a row in doubt that is shown otherwise as that row, where a payment alone says which it is', async () => {
    const iban = 'BE68539007547034';
    const row = { rowNo: 1, amountMinor: 100n, currency: 'EUR', iban, bankPaymentId: null };
    const messageId = expectedRows(work.instruction.id, [row as unknown as PayableRow])[0]?.messageId;
    const shown = { bankPaymentId: '77', ids: ['77'] as const, amountMinor: 999n };
    const reader = reading('INITIATED', 'INITIATED', gone, false, {}, shown);
    reader.gateway.getPayment.mockResolvedValue({ ...shown, messageId, status: 'INITIATED' } as never);
    const judged = await reader.readBack(
      { ...work, planned: { ...work.planned, rowCount: 1, totalMinor: 100n } },
      [row as unknown as PayableRow],
    );
    expect(judged).toMatchObject({
      named: { FOREIGN_RECORD: [], ECHO_MISMATCH: [expect.stringMatching(/^row 1 differs in amount/)] },
    });
  });

  it.each([
    ['INITIATED', 'SETTLED', gone],
    ['CANCELLED', 'SETTLED', gone],
    ['CANCELLED', refused, 'SETTLED'],
    [gone, gone, 'SETTLED'],
  ])('moved where one of its payments did (%s, %s, %s)', async (shown, own, general) => {
    expect(await reading(shown, own, general).readBack(work, [])).toMatchObject({
      kind: 'moved',
      bankStatus: 'SETTLED',
    });
  });

  it.each([
    ['CANCELLED', new BankError(500, raw), gone, 500],
    [gone, gone, refused, 403],
    [gone, gone, new BankError(500, raw), 500],
  ])(
    'is not known to be dead while its payments cannot be read (%s, %s, %s)',
    async (shown, own, general, status) => {
      expect(await failure(reading(shown, own, general).readBack(work, []))).toMatchObject({ status });
    },
  );
});

describe('an instruction whose own list is empty, or fails for good', () => {
  it('is not known to be gone where the general list is refused', async () => {
    expect(await failure(reading(gone, '', refused).readBack(work, []))).toMatchObject({ status: 403 });
  });

  it.each([new ContractDrift(['x']), new ListUnreadable('repeats')])(
    'is waited for where that of the general list cannot be used (%s)',
    async (general) => {
      const unclear = { kind: 'unclear', failing: 'payments' };
      const reader = reading(gone, '', general);
      for (let n = 1; n < 5; n += 1) expect(await failure(reader.readBack(work, []))).toBe(general);
      expect(await reader.readBack(work, [])).toEqual(unclear);
    },
  );

  it('is waited for where one payment by itself cannot be used', async () => {
    const reader = reading(gone, '', '', false, {}, {}, [{ id: '901', other: null }]);
    const odd = new ContractDrift(['x']);
    reader.gateway.getPayment.mockRejectedValue(odd);
    for (let n = 1; n < 5; n += 1) expect(await failure(reader.readBack(work, []))).toBe(odd);
    expect(await reader.readBack(work, [])).toEqual({ kind: 'unclear', failing: 'payments' });
  });

  it('lacks its rows where it is shown as before its submit, and no payment is', async () => {
    const payment = { bankPaymentId: '77', amountMinor: 100n, currency: 'EUR', iban: 'BE68539007547034' };
    const row = { rowNo: 1, ...payment, bankTransactionId: null } as unknown as PayableRow;
    const reader = reading('INITIATED', new BankError(500, raw), '');
    for (let n = 1; n < 5; n += 1) await failure(reader.readBack(work, [row]));
    expect(await reader.readBack(work, [row])).toMatchObject({ kind: 'fewer' });
  });

  it('lacks its rows where one payment by itself is answered with 401, unless such reads are known to be allowed', async () => {
    const row = { rowNo: 1, bankPaymentId: '77', bankTransactionId: null } as unknown as PayableRow;
    const reader = reading('INITIATED', '', '');
    const unknown = new Unauthorised(401, raw);
    reader.gateway.getPayment.mockRejectedValue(unknown);
    expect(await reader.readBack(work, [row])).toMatchObject({ kind: 'fewer' });
    const account = { ...work.account, reads: [...work.account.reads, 'PAYMENT' as const] };
    expect(await failure(reader.readBack({ ...work, account }, [row]))).toBe(unknown);
  });
});

describe('an instruction that may not be read itself', () => {
  it('is not taken to lack its rows where its payments fail for good', async () => {
    const row = { rowNo: 1, bankPaymentId: null, bankTransactionId: null } as unknown as PayableRow;
    const account = { ...work.account, reads: ['INSTRUCTION_PAYMENTS', 'PAYMENT_LIST'] };
    const reader = reading(refused, new BankError(500, raw), gone);
    for (let n = 1; n < 5; n += 1) await failure(reader.readBack({ ...work, account } as Work, [row]));
    expect(await failure(reader.readBack({ ...work, account } as Work, [row]))).toBeInstanceOf(ReadFails);
  });
});

describe('an instruction that was read back as approved, at a last look', () => {
  const payment = { bankPaymentId: '77', amountMinor: 100n, currency: 'EUR', iban: 'BE68539007547034' };
  const row = { rowNo: 1, ...payment, bankTransactionId: null } as unknown as PayableRow;
  const approved = { ...work, planned: { ...work.planned, rowCount: 1, totalMinor: 100n } };
  const totals = { calculatedCount: 1, calculatedTotalMinor: 100n };
  const added = { ...payment, bankPaymentId: '78', ids: ['78'] as const };
  const look = (shown: Partial<BankInstruction>, paymentsStand = false, status = 'INITIATED') =>
    reading(status, 'INITIATED', gone, false, shown, [{ ...payment, ids: ['77'] }, added]).readAgain(
      approved,
      [row],
      {} as Turn,
      paymentsStand,
    );

  it('stands by its totals alone, or where its payments were read just now', async () => {
    expect(await look(totals)).toBeUndefined();
    expect(await look({}, true)).toBeUndefined();
  });

  it.each<[string, Partial<BankInstruction>, boolean]>([
    ['no totals are shown', {}, false],
    ['no sum is shown', { calculatedCount: 1 }, false],
    ['a payment more is counted', { ...totals, calculatedCount: 2 }, true],
    ['more is summed up', { ...totals, calculatedTotalMinor: 200n }, true],
    ['it announces another sum', { ...totals, requestedTotalMinor: 200n }, true],
    ['it is another one', { ...totals, reference: 'PAY-2026-12' }, true],
  ])('is read whole where %s', async (_what, shown, paymentsStand) => {
    expect(await look(shown, paymentsStand)).toMatchObject({ kind: 'different' });
  });

  it.each([
    ['INI_STARTED', 'wait'],
    ['CANCELLED', 'dead'],
    ['PRO_MANUAL_REVIEW', 'unclear'],
  ])('does not stand as %s, whatever its totals', async (status, kind) => {
    expect(await look(totals, true, status)).toMatchObject({ kind });
  });
});

describe('an unsubmitted instruction in which the bank lists its own fee', () => {
  const payment = { bankPaymentId: '77', amountMinor: 100n, currency: 'EUR', iban: 'BE68539007547034' };
  const row = { rowNo: 1, ...payment, bankTransactionId: null } as unknown as PayableRow;
  const fee = { bankPaymentId: '78', ids: ['78'] as const, amountMinor: 15n, transactionType: 'FEE' };
  const approved = { ...work, planned: { ...work.planned, rowCount: 1, totalMinor: 100n } };
  const totals = { calculatedCount: 1, calculatedTotalMinor: 100n };

  /** Read where its list shows its payment, unless that is left out, and besides what is given. */
  async function readWith(besides: Partial<BankPayment>, shown: Partial<BankInstruction>, lacks = false) {
    const all = [...(lacks ? [] : [{ ...payment, ids: ['77'] as const }]), besides];
    return reading('INITIATED', 'INITIATED', gone, false, shown, all).readBack(approved, [row]);
  }

  it('is as it was approved where its totals are those of the approved rows', async () => {
    expect(await readWith(fee, totals)).toMatchObject({ kind: 'equal' });
  });

  it.each<[string, Partial<BankPayment>, Partial<BankInstruction>]>([
    ['no totals are shown', fee, {}],
    ['no sum is shown', fee, { calculatedCount: 1 }],
    ['the totals count it', fee, { calculatedCount: 2, calculatedTotalMinor: 115n }],
    ['it names a payee', { ...fee, iban: 'BE71096123456769' }, totals],
    ['it is no fee', { ...fee, transactionType: 'ACCOUNT_TO_EXTERNAL' }, totals],
  ])('holds a payment that was never sent where %s', async (_what, besides, shown) => {
    expect(await readWith(besides, shown)).toMatchObject({ kind: 'different' });
  });

  it('holds a payment that was never sent where an approved one is not shown', async () => {
    expect(await readWith(fee, totals, true)).toMatchObject({ kind: 'different' });
  });
});

describe('what an unsubmitted instruction announces when it is read back', () => {
  const readAs = (shown: Partial<BankInstruction>) =>
    reading('INITIATED', gone, gone, false, shown).readBack(work, []);

  it.each<Partial<BankInstruction>>([
    {},
    { reference: referenceOf(work, 1) },
    { reference: referenceOf(work, 12).toUpperCase() },
    { debtorIban: 'DE89 3704 0044 0532 0130 00' },
    { debtorIban: 'de89370400440532013000' },
    { executionDate: '2026-12-01', requestedCount: 0, requestedTotalMinor: 0n, currency: 'EUR' },
    { executionDate: '2026-12-02' },
    { executionDate: '2026-12-08' },
  ])('is as it was sent where the bank shows nothing else (%#)', async (shown) => {
    expect(await readAs(shown)).toMatchObject({ kind: 'equal' });
  });

  it.each<[field: string, Partial<BankInstruction>]>([
    ['reference', { reference: 'PAY-2026-12' }],
    ['reference', { reference: `${referenceOf(work, 1)}-1` }],
    [
      'reference',
      { reference: referenceOf({ ...work, instruction: { ...work.instruction, attempt: 1 } }, 1) },
    ],
    ['debtorIban', { debtorIban: 'BE68539007547034' }],
    ['count', { requestedCount: 1 }],
    ['total', { requestedTotalMinor: 1n }],
    ['currency', { currency: 'USD' }],
    ['executionDate', { executionDate: '2026-11-30' }],
    ['executionDate', { executionDate: '2026-12-09' }],
  ])('is different where the bank shows another %s', async (field, shown) => {
    const reading = field === 'reference' ? '' : ` [(]reading ${field} \\w{8}[)]`;
    const why = expect.stringMatching(new RegExp(`^it differs in ${field}${reading}$`));
    const named = { FOREIGN_RECORD: [], ECHO_MISMATCH: [why] };
    expect(await readAs(shown)).toEqual({ kind: 'different', why, named });
  });

  it.each<[shown: Partial<BankInstruction>, other: Partial<BankInstruction>]>([
    [{ debtorIban: 'BE68539007547034' }, { debtorIban: 'BE71096123456769' }],
    [{ executionDate: '2026-11-30' }, { executionDate: '2026-12-09' }],
    [
      { calculatedCount: 0, calculatedTotalMinor: 1n },
      { calculatedCount: 0, calculatedTotalMinor: 2n },
    ],
  ])('is told from another that differs in the same field (%#)', async (shown, other) => {
    const first = await readAs(shown);
    expect(first).toMatchObject({ kind: 'different' });
    expect(await readAs(shown)).toEqual(first);
    expect(await readAs(other)).not.toEqual(first);
  });
});

describe('an unsubmitted instruction that the bank shows no more, of which a payment failed', () => {
  it('has moved where its history says that it was settled', async () => {
    expect(await reading(gone, 'FAILED', 'FAILED').readBack(work, [])).toEqual({ kind: 'gone' });
    const moved = { kind: 'moved', bankStatus: 'SETTLED' };
    expect(await reading(gone, 'FAILED', 'FAILED', true).readBack(work, [])).toEqual(moved);
    expect(await reading('CANCELLED', 'FAILED', 'FAILED', true).readBack(work, [])).toEqual(moved);
  });
});

describe('an instruction that is given up', () => {
  const ended = (reader: InstructionReader) => {
    const database = { inEmployer: () => Promise.resolve() } as unknown as Database;
    const abandonment = new Abandonment(database, reader, {} as Config);
    return failure(abandonment.end({ employerId: 'employer' } as Claim, work));
  };

  it.each([
    ['CANCELLED', gone, gone],
    [gone, gone, refused],
    [refused, refused, refused],
  ])('ends though the bank shows no more of it (%s, %s, %s)', async (shown, own, general) => {
    expect(await ended(reading(shown, own, general))).toBeUndefined();
  });

  it.each([
    ['CANCELLED', new BankError(409, raw), gone],
    [gone, gone, new ContractDrift(['x'])],
    [new BankError(409, raw), refused, refused],
  ])('does not end on one read that shows nothing otherwise (%s, %s, %s)', async (shown, own, general) => {
    expect(await ended(reading(shown, own, general))).toBeInstanceOf(BankClientError);
  });

  it('does not end while its payments are shown without it, as they may rest until somebody approves them, but on the word of the bank', async () => {
    const end = (own: string | Error, isSaid = false) => {
      const database = { inEmployer: () => Promise.resolve(isSaid) } as unknown as Database;
      const abandonment = new Abandonment(database, reading(gone, own, own), {} as Config);
      return abandonment.end({ employerId: 'employer' } as Claim, work);
    };
    expect(await end('INITIATED')).toBe(30_000);
    expect(await end('INITIATED', true)).toBe('never');
    expect(await end('CANCELLED')).toBe('never');
  });

  it('does not end while the bank cannot be reached', async () => {
    expect(await ended(reading('CANCELLED', new BankError(500, raw), gone))).toMatchObject({ status: 500 });
  });
});
