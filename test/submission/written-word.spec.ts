import { BankError, ContractDrift, ListUnreadable, NotAllowed, NotFound } from '../../src/bank/errors';
import type { Database } from '../../src/database/database';
import type { PersonalData } from '../../src/database/personal-data';
import type { Attention, AttentionActionRow } from '../../src/pay-run/attention.entity';
import { EndedInstruction } from '../../src/attention/ended-instruction';
import { InstructionSight } from '../../src/attention/instruction-sight';
import { StatusMeaning } from '../../src/attention/status-meaning';
import { Clock } from '../../src/config/clock';
import type { FollowRecord } from '../../src/settlement/follow-record';
import type { Work } from '../../src/submission/work';
import { readsOf } from '../support/reads-of';

const work = {
  account: { reads: ['INSTRUCTION_PAYMENTS'] },
  instruction: {
    id: '018f0000-0000-7000-8000-000000000001',
    employerId: 'employer',
    bankInstructionId: '4711',
    bankStatus: 'CANCELLED',
    createdAt: new Date(),
  },
} as unknown as Work;

/** Decisions of one process on the bank's written word, where the only list there is answers so. */
const WORDS = {
  'not executed': (answer: Error) => {
    // The instruction, and then its payments.
    const known = [[['901']], new Map()];
    let reads = 0;
    const database = { inEmployer: () => Promise.resolve(++reads % 2 ? work : known) };
    const ended = new EndedInstruction(database as unknown as Database, sightOf(answer));
    return () => ended.prove('employer', {} as Attention, 'letter of today, reference B-9');
  },
  'not paid': (answer: Error) => {
    const waiting = [{ rowNo: 1, bankPaymentId: '901', bankTransactionId: null, status: 'EXCHANGE_ERROR' }];
    const database = { inEmployer: () => Promise.resolve({ work, open: waiting, waiting, rows: [] }) };
    const meaning = new StatusMeaning(database as unknown as Database, {} as PersonalData, sightOf(answer));
    return () => meaning.prove('employer', {} as Attention, { action: 'NOT_PAID' } as AttentionActionRow);
  },
};

/** Nothing that it shows is recorded. */
function sightOf(answer: Error): InstructionSight {
  return new InstructionSight({} as Database, readsThat(answer), {} as FollowRecord, new Clock());
}

function readsThat(answer: Error) {
  async function* listed() {
    yield* await Promise.reject<never[]>(answer);
  }
  return readsOf({
    listInstructionPayments: listed,
    getPayment: () => Promise.reject(new NotFound(404, raw)),
  });
}

const raw = { raw: '' };

describe.each(Object.entries(WORDS))('the bank’s written word that something was %s', (_, decides) => {
  it.each([
    new ContractDrift(['items.0.status']),
    new ListUnreadable('repeats'),
    new BankError(405, raw),
    new BankError(409, raw),
  ])('goes before a list that cannot be used, once that is so for good (%s)', async (answer) => {
    const decide = decides(answer);
    for (let n = 1; n < 5; n += 1)
      await expect(decide()).rejects.toMatchObject({ status: 503, code: 'BANK_UNREADABLE' });
    await decide();
  });

  it('goes before a list that is hidden, at once', async () => {
    await decides(new NotAllowed(403, raw))();
  });
});
