import { readDelivery } from '../../src/settlement/delivery';

const read = (value: unknown) =>
  readDelivery(Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)));

describe('a webhook delivery', () => {
  it('gives its event, its own id and every id in its data, numbers as the text they were', () => {
    const body =
      '{"id":"evt-1","webhookId":"7","type":"payment_transaction","event":"payment_transaction.settled","data":{"paymentTransactionId":90071992547409931,"more":{"ids":[12,"x"]}}}';
    expect(read(body)).toEqual({
      event: 'payment_transaction.settled',
      ownId: 'evt-1',
      references: ['90071992547409931', '12', 'x'],
    });
  });

  it('gives an id that is an integer as it is known, however it is written', () => {
    const body =
      '{"id":7.0,"event":"e","data":{"customerInstructionId":1000001.0,"account":"10.0","more":1e1}}';
    expect(read(body)).toMatchObject({ ownId: '7', references: ['1000001', '10.0', '10'] });
  });

  it.each([
    '{"accountId":"1","amount":{"value":9502,"currency":"EUR"}}',
    '{"accountId":"1","amount":245000,"transactionAmount":"2450.00"}',
    '{"accountId":"1","more":{"currency":"EUR","value":245000}}',
    '{"accountId":"1","availableBalance":{"minor":9502}}',
  ])('takes no amount for an id: %s', (data) => {
    const { references } = read(`{"event":"transaction.new","data":${data}}`);
    expect(references.filter((one) => one !== 'EUR')).toEqual(['1']);
  });

  it('takes the id of an account for one, also where it stands as a value', () => {
    const body = '{"event":"e","data":{"account":{"type":"BBAN","value":1002},"currency":"EUR"}}';
    expect(read(body).references).toEqual(['BBAN', '1002', 'EUR']);
  });

  it.each([['not json'], ['[]'], ['null'], ['{}'], ['{"event":7}'], ['{"event":""}']])(
    'takes %s for an event without a name',
    (body) => {
      expect(read(body)).toEqual({ event: 'unnamed', references: [] });
    },
  );

  it('looks no deeper and at no more than a delivery can need', () => {
    const deep = { event: 'e', data: { a: { b: { c: { d: { e: 'too deep' } } } } } };
    expect(read(deep).references).toEqual([]);
    const many = { event: 'e', data: { ids: Array.from({ length: 500 }, (_, n) => `id${n}`) } };
    expect(read(many).references).toHaveLength(50);
  });

  it('replaces what no text of a database can hold, wherever it stands', () => {
    const body =
      '{"id":"a\\u0000b","event":"e\\u0000\\ud800.\\udc00","data":{"x":"1002\\u0000","y":{"z":["\\udfff","\\ud83d\\ude00"]}}}';
    expect(read(body)).toEqual({
      event: 'e\ufffd\ufffd.\ufffd',
      ownId: 'a\ufffdb',
      references: ['1002\ufffd', '\ufffd', '\u{1f600}'],
    });
    const cut = JSON.stringify({ event: `${'x'.repeat(99)}\u{1f600}`, data: {} });
    expect(read(cut).event).toBe(`${'x'.repeat(99)}\ufffd`);
  });

  it('takes no endless number for an id', () => {
    expect(read(`{"event":"e","data":{"a":${'9'.repeat(65)},"b":12}}`).references).toEqual(['12']);
  });
});
