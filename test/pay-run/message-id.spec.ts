import fc from 'fast-check';
import { newId } from '../../src/database/new-id';
import { messageIdOf, readMessageId } from '../../src/pay-run/message-id';

describe('a message id', () => {
  it('names its instruction and row, in at most 35 characters', () => {
    fc.assert(
      fc.property(fc.uuid(), fc.integer({ min: 1, max: 1_000_000 }), (instructionId, rowNo) => {
        const id = messageIdOf(instructionId, rowNo);
        expect(id.length).toBeLessThanOrEqual(35);
        expect(id).toMatch(/^[a-z0-9-]+$/);
        expect(readMessageId(id)).toEqual({ instructionId, rowNo });
      }),
    );
  });

  it('is another for another row and for another attempt', () => {
    const ids = Array.from({ length: 50 }, () => newId()).flatMap((id) => [
      messageIdOf(id, 1),
      messageIdOf(id, 2),
    ]);
    expect(new Set(ids).size).toBe(100);
  });

  it.each([
    '',
    'NOTPROVIDED',
    'abc-1',
    `${'a'.repeat(26)}-`,
    `${'a'.repeat(26)}-1234567`,
    `${'1'.repeat(26)}-1`,
  ])('is not read out of %j', (text) => {
    expect(readMessageId(text)).toBeUndefined();
  });
});
