import { readDelivery } from '../../src/settlement/delivery';

const read = (value: unknown) =>
  readDelivery(Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)));

describe('a webhook delivery', () => {
  it('gives its event and every id in its data, numbers as the text they were', () => {
    const body =
      '{"id":"evt-1","webhookId":"7","type":"payment_transaction","event":"payment_transaction.settled","data":{"paymentTransactionId":90071992547409931,"more":{"ids":[12,"x"]}}}';
    expect(read(body)).toEqual({
      event: 'payment_transaction.settled',
      references: ['evt-1', '90071992547409931', '12', 'x'],
    });
  });

  it('gives an id that is an integer as it is known, however it is written', () => {
    const body =
      '{"id":7.0,"event":"e","data":{"customerInstructionId":1000001.0,"account":"10.0","more":1e1}}';
    expect(read(body).references).toEqual(['7', '1000001', '10.0', '10']);
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
      references: ['a\ufffdb', '1002\ufffd', '\ufffd', '\u{1f600}'],
    });
    const cut = JSON.stringify({ event: `${'x'.repeat(99)}\u{1f600}`, data: {} });
    expect(read(cut).event).toBe(`${'x'.repeat(99)}\ufffd`);
  });

  it('takes no endless number for an id', () => {
    expect(read(`{"event":"e","data":{"a":${'9'.repeat(65)},"b":12}}`).references).toEqual(['12']);
  });
});
