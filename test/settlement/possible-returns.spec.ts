import { messageIdOf } from '../../src/pay-run/message-id';
import { CameBack } from '../../src/settlement/possible-returns';

const INSTRUCTION = '018f0000-0000-7000-8000-000000000001';
const DEBTOR = 'DE43999900000000001002';
const EMPLOYEE = 'DE70999900000000001001';

describe('what came in counts as money that may have come back', () => {
  const seen = (marks: Parameters<CameBack['add']>[0]) => {
    const cameBack = new CameBack(DEBTOR);
    cameBack.add(marks);
    cameBack.add(marks);
    return [...cameBack.rows];
  };
  const messageId = messageIdOf(INSTRUCTION, 3);

  it.each([
    ['to the account that was debited', { bankPaymentId: '7', messageId, creditorIban: DEBTOR }, [['7', 3]]],
    [
      'written in groups of four',
      { bankPaymentId: '7', messageId, creditorIban: 'DE43 9999 0000 0000 0010 02' },
      [['7', 3]],
    ],
    ['without an id', { messageId, creditorIban: DEBTOR }, [[messageId, 3]]],
    ['naming no row', { bankPaymentId: '7', creditorIban: DEBTOR }, [['7', undefined]]],
    ['not to an employee at the same bank', { bankPaymentId: '7', messageId, creditorIban: EMPLOYEE }, []],
    ['not where it is not said to whom', { bankPaymentId: '7', messageId }, []],
  ])('%s', (_how, marks, rows) => {
    expect(seen(marks)).toEqual(rows);
  });
});
