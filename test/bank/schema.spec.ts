import fc from 'fast-check';
import { LosslessNumber } from 'lossless-json';
import { ContractDrift } from '../../src/bank/errors';
import {
  account,
  accountList,
  customerInstruction,
  pageOfPayments,
  paymentTransaction,
  paymentTransactionList,
  readAs,
} from '../../src/bank/schema';
import { INSTRUCTION_BODY, PAYMENT_BODY } from './scripted-bank';

const driftOf = (work: () => unknown): readonly string[] => {
  try {
    work();
  } catch (error) {
    if (error instanceof ContractDrift) return error.fields;
    throw error;
  }
  return [];
};

/** As what an instruction counts of its payments; undefined where the answer cannot be used for that. */
function countOf(written: string): number | null | undefined {
  const body = `{"id":1,"status":{"value":"INITIATED"},"calculatedNbPaymentTransactions":${written}}`;
  if (driftOf(() => readAs(customerInstruction, body)).length > 0) return undefined;
  return readAs(customerInstruction, body).calculatedNbPaymentTransactions;
}

describe('reading an answer', () => {
  it('reads ids as the digits received, from integers and strings, also beyond what a float can hold', () => {
    const read = readAs(customerInstruction, '{"id":12345678901234567891,"status":{"value":"INITIATED"}}');
    expect(read.id).toBe('12345678901234567891');
    expect(readAs(account, '{"id":"007","status":"OPENED","userId":42}')).toMatchObject({
      id: '007',
      userId: '42',
    });
  });

  it.each([
    ['1000001.0', '1000001'],
    ['1e1', '10'],
    ['1.000001E+6', '1000001'],
    ['12345678901234567891.0', '12345678901234567891'],
    ['10.5', '10.5'],
    ['"10.0"', '10.0'],
    ['"1e1"', '1e1'],
  ])('reads an id that is an integer however it is written, and any other as it came (%s)', (written, id) => {
    const internal = `{"id":${written},"status":{"value":"INITIATED"},"contractId":${written}}`;
    const identification = `{"id":${written},"customerInstructionId":${written}}`;
    const body = `{"paymentTransactionInternalInformation":${internal},"customerInstructionId":${written},
      "paymentTransactionInformation":{"paymentTransactionIdentification":${identification}}}`;
    expect(readAs(paymentTransaction, body)).toMatchObject({
      paymentTransactionInternalInformation: { id, contractId: id },
      paymentTransactionInformation: {
        paymentTransactionIdentification: { id, customerInstructionId: id },
      },
      customerInstructionId: id,
    });
    const [listed] = readAs(
      pageOfPayments(() => false),
      `[${body}]`,
    ).items;
    expect(listed).toEqual({
      id,
      marks: expect.objectContaining({ bankPaymentId: id, bankTransactionId: id, bankInstructionId: id }),
    });
  });

  it('leaves the amount of what came in as it is written', () => {
    const body = `[{"paymentTransactionInformation":{"direction":"INWARD"},"paymentTransactionAmountInformation":
      {"instructedAmount":{"value":10.0,"currency":"EUR"}}}]`;
    const [listed] = readAs(
      pageOfPayments(() => false),
      body,
    ).items;
    expect(listed?.marks.amount).toEqual({ value: '10.0', currency: 'EUR' });
  });

  it('keeps fields and codes the document does not name', () => {
    const body = {
      ...INSTRUCTION_BODY,
      status: { value: 'C_INST_WAITING_FOR_APPROVAL' },
      brandNew: { deep: 1 },
    };
    const read = readAs(customerInstruction, JSON.stringify(body));
    expect(read.status.value).toBe('C_INST_WAITING_FOR_APPROVAL');
    expect(read['brandNew']).toEqual({ deep: new LosslessNumber('1') });
  });

  it('reads no text that the database cannot hold', () => {
    const body =
      '{"id":1,"status":{"value":"SETT\\u0000LED","label":"\\\\u0000 \\\\\\u0000"},"new":{"deep":"\\u0000\\u0000"}}';
    const read = readAs(customerInstruction, body);
    expect(read.status).toEqual({ value: 'SETT\uFFFDLED', label: '\\u0000 \\\uFFFD' });
    expect(read['new']).toEqual({ deep: '\uFFFD\uFFFD' });
  });

  it.each(['x'.repeat(129), '..', 'a\0b', '\ud800'])(
    'takes nothing for an id that names no record (%j)',
    (id) => {
      const read = () => readAs(customerInstruction, JSON.stringify({ ...INSTRUCTION_BODY, id }));
      expect(driftOf(read)).toEqual(['id']);
    },
  );

  it('names the missing required field and no value', () => {
    expect(driftOf(() => readAs(customerInstruction, '{"status":{"value":"INITIATED"}}'))).toEqual(['id']);
    expect(driftOf(() => readAs(customerInstruction, '{"id":1,"status":{}}'))).toEqual(['status.value']);
    const items = [PAYMENT_BODY, { ...PAYMENT_BODY, paymentTransactionInternalInformation: { id: 1 } }];
    expect(driftOf(() => readAs(paymentTransactionList, JSON.stringify({ items })))).toEqual([
      'items.1.paymentTransactionInternalInformation.status',
    ]);
  });

  it('reads an initiating party whose id is a plain text or a number', () => {
    for (const id of ['4711', 4711]) {
      const initiatingParty = { name: 'Payer', id };
      const body = { ...INSTRUCTION_BODY, customerInstructionOrderingParties: { initiatingParty } };
      const read = readAs(customerInstruction, JSON.stringify(body));
      expect(read.customerInstructionOrderingParties?.initiatingParty?.id).toEqual({ value: '4711' });
    }
  });

  it.each([{}, { value: null }, { value: '', label: null }])(
    'takes a group status without a value for none, in a record and its history (%j)',
    (groupStatus) => {
      const status = { value: 'INITIATED' };
      const history = [{ status, groupStatus }];
      const internal = { id: 1, status, groupStatus, history };
      const payment = readAs(
        paymentTransaction,
        JSON.stringify({ paymentTransactionInternalInformation: internal }),
      );
      expect(payment.paymentTransactionInternalInformation.groupStatus?.value ?? '').toBe('');
      expect(readAs(customerInstruction, JSON.stringify({ id: 1, status, groupStatus, history })).id).toBe(
        '1',
      );
    },
  );

  it.each([null, {}, [{ rel: 'self' }], [{ rel: null, href: null }], { self: { href: '/x' } }, 'none'])(
    'reads a record whatever its links are, on which nothing rests (%j)',
    (links) => {
      const status = { value: 'INITIATED' };
      const payment = { paymentTransactionInternalInformation: { id: 1, status }, links };
      expect(
        readAs(paymentTransaction, JSON.stringify(payment)).paymentTransactionInternalInformation.id,
      ).toBe('1');
      expect(readAs(customerInstruction, JSON.stringify({ id: 1, status, links })).id).toBe('1');
    },
  );

  it('reads a list item without parties, message id, links, and with nulls', () => {
    const item = {
      paymentTransactionInternalInformation: { id: 1, status: { value: 'SETTLED' }, groupStatus: null },
      paymentTransactionParties: null,
    };
    const read = readAs(paymentTransaction, JSON.stringify(item));
    expect(read.paymentTransactionInternalInformation).toMatchObject({
      id: '1',
      status: { value: 'SETTLED' },
    });
  });

  it('reads the total whether it comes back alone or as the array that was sent', () => {
    const information = INSTRUCTION_BODY.customerInstructionInformation;
    const asArray = {
      ...INSTRUCTION_BODY,
      customerInstructionInformation: {
        ...information,
        requestedTotalAmount: [information.requestedTotalAmount],
      },
    };
    for (const body of [INSTRUCTION_BODY, asArray]) {
      const read = readAs(customerInstruction, JSON.stringify(body));
      expect(read.customerInstructionInformation?.requestedTotalAmount?.value).toBe('300050');
    }
  });

  it.each([
    [{ value: 0, currency: null }, undefined],
    [{ value: '0.00', currency: '' }, undefined],
    [{ value: '0e0', currency: null }, undefined],
    [{ value: null, currency: null }, undefined],
    [{ value: '', currency: 'EUR' }, undefined],
    [null, null],
    [
      { value: 0, currency: 'eur' },
      { value: '0', currency: 'EUR' },
    ],
  ])('reads a sum over nothing, written as %j, as %j', (calculatedAmount, read) => {
    const body = JSON.stringify({ ...INSTRUCTION_BODY, calculatedAmount });
    expect(readAs(customerInstruction, body).calculatedAmount).toEqual(read);
  });

  it.each([{ value: 5, currency: null }, { value: 'none', currency: 'EUR' }, 7])(
    'takes no amount that says something else for one of nothing (%j)',
    (calculatedAmount) => {
      const body = JSON.stringify({ ...INSTRUCTION_BODY, calculatedAmount });
      expect(driftOf(() => readAs(customerInstruction, body))).toHaveLength(1);
    },
  );

  it.each([
    '{"items":null,"count":0}',
    '{"items":null,"count":25}',
    '{"count":0,"limit":20}',
    '{"count":25,"limit":20,"offset":40,"sort":"+id"}',
    '{"count":0.0}',
  ])(
    'takes a page that counts, and holds null or nothing for its items, for one that holds none (%s)',
    (body) => {
      expect(readAs(accountList, body).items).toEqual([]);
    },
  );

  it.each([
    '{"items":null}',
    '{"items":null,"count":null}',
    '{"items":{},"count":0}',
    '{"count":-1}',
    '{"count":0.5}',
    '{"limit":20}',
    '{}',
    '{"count":1,"content":[{"id":1}]}',
  ])(
    'takes nothing for an empty page that does not count, or holds something by another name (%s)',
    (body) => {
      expect(driftOf(() => readAs(accountList, body))).toEqual(['items']);
    },
  );

  it('reads an integer however it is written', () => {
    const digits = fc.bigInt({ min: 0n, max: BigInt(Number.MAX_SAFE_INTEGER) });
    fc.assert(
      fc.property(digits, fc.nat(6), fc.boolean(), (whole, places, isCapital) => {
        const e = isCapital ? 'E' : 'e';
        const shifted = whole * 10n ** BigInt(places);
        const pointed = `${whole}`.padStart(places + 1, '0').replace(new RegExp(`(?=\\d{${places}}$)`), '.');
        const writings = [
          `${whole}`,
          `${whole}.${'0'.repeat(places + 1)}`,
          `${whole}${e}0`,
          `${whole}.0${e}+0`,
          `${shifted}${e}-${places}`,
          ...(places > 0 ? [`${pointed}${e}${places}`] : []),
        ];
        for (const written of writings) expect([written, countOf(written)]).toEqual([written, Number(whole)]);
      }),
    );
    for (const zero of ['0.0', '0e0', '-0', '-0.0', '0E-7']) expect([zero, countOf(zero)]).toEqual([zero, 0]);
  });

  it('takes no fraction for an integer, and none that is negative or larger than can be counted', () => {
    fc.assert(
      fc.property(fc.nat(), fc.integer({ min: 1, max: 9 }), fc.nat(6), (whole, tenths, zeros) => {
        for (const written of [`${whole}.${'0'.repeat(zeros)}${tenths}`, `${whole}${tenths}e-1`])
          expect([written, countOf(written)]).toEqual([written, undefined]);
      }),
    );
    for (const written of [
      '-1',
      '-10.0',
      '9007199254740992',
      '9007199254740993.0',
      '1e16',
      '1e999',
      '""',
      '"x"',
    ])
      expect([written, countOf(written)]).toEqual([written, undefined]);
  });

  it('takes an array alone for a list', () => {
    const [one] = readAs(paymentTransactionList, `[${JSON.stringify(PAYMENT_BODY)}]`).items;
    expect(one).toEqual(readAs(paymentTransaction, JSON.stringify(PAYMENT_BODY)));
    expect(readAs(accountList, '[]')).toEqual({ items: [] });
  });

  it('does without usable count, limit and offset', () => {
    const read = readAs(accountList, '{"items":[],"count":"many","limit":null,"offset":-20}');
    expect(read).toMatchObject({ items: [], limit: null });
    expect(read.offset).toBeUndefined();
  });

  it.each([
    '',
    'not json',
    '{"id":1',
    '<html></html>',
    '{"id":1,"id":2,"status":{"value":"A"}}',
    '['.repeat(200_000),
  ])('calls an unreadable body contract drift', (body) => {
    expect(driftOf(() => readAs(customerInstruction, body))).toEqual(['body']);
  });
});
