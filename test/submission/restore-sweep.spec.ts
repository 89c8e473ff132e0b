import { BankError, ListUnreadable, NotAllowed, NotFound } from '../../src/bank/errors';
import type { BankGateway } from '../../src/bank/gateway';
import type { Database } from '../../src/database/database';
import { messageIdOf } from '../../src/pay-run/message-id';
import { RestoreSweep } from '../../src/submission/restore-sweep';

const raw = { raw: '' };
const KNOWN = '018f0000-0000-7000-8000-000000000001';
const FROM = new Date('2026-11-01T00:00:00Z');

interface Listed {
  status: string;
  bankInstructionId?: string;
  messageId?: string;
  ids: readonly string[];
  bankPaymentId: string;
  datedMs?: number;
}

const ours = (instructionId: string): Listed => ({
  status: 'SETTLED',
  messageId: messageIdOf(instructionId, 1),
  ids: ['815'],
  bankPaymentId: '815',
});

/** What the bank shows singly, by id, and how the database has the one instruction that it knows. */
interface Known {
  shown?: Record<string, string>;
  status?: string;
  /** Message ids that payments read alone show. */
  alone?: Record<string, string>;
}

const RECORDED = 'Z2';

/** At a bank that answers so without a date, and so from one on; the database knows one instruction. */
function sweep(
  all: readonly Listed[] | Error,
  since: readonly Listed[] | Error,
  { shown = {}, status = 'VERIFIED', alone = {} }: Known = {},
) {
  const asked: (string | undefined)[] = [];
  async function* listStatuses({ from }: { from?: string }, isWanted: (marks: Listed) => boolean) {
    asked.push(from);
    const answer = from === undefined ? all : since;
    if (answer instanceof Error) throw answer;
    yield* await Promise.resolve(answer.filter(isWanted));
  }
  const gateway = {
    listStatuses,
    getInstruction: (asked: string) =>
      asked in shown
        ? Promise.resolve({ bankInstructionId: shown[asked], status: 'SETTLED' })
        : Promise.reject(new NotFound(404, raw)),
    getPayment: ([id]: readonly string[]) =>
      id! in alone ? Promise.resolve({ messageId: alone[id!] }) : Promise.reject(new NotFound(404, raw)),
  } as unknown as BankGateway;
  const query = (_sql: string, [, instructionIds = []]: string[][]) =>
    Promise.resolve(
      instructionIds.includes(KNOWN) ? [{ id: KNOWN, bank_instruction_id: RECORDED, status }] : [],
    );
  const database = { asWorker: (work: (tx: unknown) => unknown) => work({ query }) } as unknown as Database;
  return { asked, found: new RestoreSweep(database, gateway).since(FROM, false) };
}

describe('what a bank lists after a restore', () => {
  it('is all of it, since nobody says of which date the one is that the list can begin at', async () => {
    const { asked, found } = sweep([ours(KNOWN)], []);
    expect(await found).toMatchObject({
      readable: true,
      moved: [{ instructionId: KNOWN, status: 'SETTLED' }],
      unknown: [],
      unidentified: [],
    });
    expect(asked).toEqual([undefined]);
  });

  it('is nothing that is dated before: of that the record has what it was', async () => {
    const forgotten = { ...ours(KNOWN), bankInstructionId: 'Z', bankPaymentId: '816', ids: ['816'] };
    const listed = [-1, 0].map((ms) => ({ ...forgotten, bankInstructionId: `Z${ms}`, datedMs: +FROM + ms }));
    const { unknown } = await sweep(listed, []).found;
    expect(unknown.map(({ bankInstructionId }) => bankInstructionId)).toEqual(['Z0']);
  });

  it.each([
    ['refused without a date', new BankError(400, raw)],
    ['longer than is read of any', new ListUnreadable('too-many-items')],
  ])('is told, and not believed to be all, where it is %s', async (_how, failure) => {
    const { asked, found } = sweep(failure, [ours(KNOWN)]);
    expect(await found).toMatchObject({ readable: false, moved: [{ instructionId: KNOWN }] });
    expect(asked).toEqual([undefined, FROM.toISOString()]);
  });

  it.each([
    ['refused', new NotAllowed(403, raw)],
    ['never there', new NotFound(404, raw)],
  ])('is not known where it is %s', async (_how, refusal) => {
    expect(await sweep(refusal, refusal).found).toMatchObject({ readable: false, unknown: [], moved: [] });
  });

  it('is read again where it cannot be read to its end for now', async () => {
    await expect(sweep(new ListUnreadable('gap'), []).found).rejects.toThrow(ListUnreadable);
  });

  it.each([
    ['SETTLED', true, false],
    ['INITIATED', false, true],
  ])(
    'is of an instruction that its message ids name where the bank does not: one that is %s',
    async (status, submitted, isUnclear) => {
      const instructionId = '018f0000-0000-7000-8000-000000000002';
      const forgotten = { ...ours(instructionId), status, ids: ['816'], bankPaymentId: '816' };
      const { found } = sweep([ours(KNOWN), forgotten], []);
      const { unknown, unidentified } = await found;
      expect(unknown).toMatchObject([
        { bankInstructionId: 'payment 816', instructionId, status, submitted, isUnclear },
      ]);
      expect(unidentified).toEqual([]);
    },
  );

  it('is of nobody knows whom where neither it nor a read of it alone names anything', async () => {
    const nobodys = { ...ours(KNOWN), messageId: undefined, ids: ['816'], bankPaymentId: '816' };
    const { found } = sweep([ours(KNOWN), nobodys], []);
    expect(await found).toMatchObject({ readable: true, unknown: [], unidentified: ['816'] });
  });

  const asZ = { ...ours(KNOWN), bankInstructionId: 'Z' };

  it.each([
    ['and shows so by itself', 'SETTLED', { status: 'ABANDONED', shown: { Z: 'Z' } }, true, false],
    [
      'though the record has a submit of ours',
      'SETTLED',
      { status: 'CLOSED', shown: { Z: 'Z' } },
      true,
      false,
    ],
    ['and does not show by itself', 'SETTLED', { status: 'VERIFIED' }, true, false],
    ['and shows neither by itself nor as submitted', 'INITIATED', { status: 'VERIFIED' }, false, true],
  ] as const)(
    'is another instruction with the message ids of a known one where the bank names it otherwise, %s',
    async (_how, status, known, submitted, isUnclear) => {
      const { found } = sweep([{ ...asZ, status }], [], known);
      const { unknown, moved } = await found;
      expect(unknown).toMatchObject([{ bankInstructionId: 'Z', instructionId: KNOWN, submitted, isUnclear }]);
      expect(moved).toEqual([]);
    },
  );

  it.each([
    ['names by another id and shows as the one that is recorded', asZ, { shown: { Z: RECORDED } }],
    ['names by another id, of which the record has the submit', asZ, { status: 'SUBMITTED' }],
    ['does not name, before its submit', ours(KNOWN), { status: 'VERIFIED' }],
  ])('is the known instruction that the bank %s', async (_how, listed, known) => {
    const { unknown, moved } = await sweep([listed], [], known).found;
    expect(unknown).toEqual([]);
    expect(moved).toMatchObject([{ instructionId: KNOWN, status: 'SETTLED' }]);
  });

  it('is forgotten where the bank does not name it and shows submitted what was given up unsubmitted', async () => {
    const older = { ...ours(KNOWN), status: 'INITIATED', ids: ['814'], bankPaymentId: '814' };
    const { unknown } = await sweep([older, ours(KNOWN)], [], { status: 'ABANDONED' }).found;
    expect(unknown).toMatchObject([
      { bankInstructionId: 'payment 815', instructionId: KNOWN, submitted: true },
    ]);
  });
});

describe('what a bank lists after a restore, more than is read one by one', () => {
  const NEWEST = '018f0000-0000-7000-8000-000000000009';
  const [ONE_DAY, NEXT_DAY] = [1, 2].map((days) => +FROM + days * 86_400_000);
  /** Of as many ids, from one on; nothing in the list says whose they are. */
  const unmarked = (first: number, count: number, datedMs?: number): Listed[] =>
    Array.from({ length: count }, (_, index) => {
      const id = String(first + index);
      return { status: 'SETTLED', ids: [id], bankPaymentId: id, datedMs };
    });
  const alone = { '5000': messageIdOf(NEWEST, 1) };

  it.each([
    ['its dates', [...unmarked(7000, 1_004, ONE_DAY), ...unmarked(5000, 1, NEXT_DAY)]],
    ['its ids where it gives no dates', [...unmarked(996, 1_004), ...unmarked(5000, 1)]],
    ['its ids, and not by its order', [...unmarked(5000, 1), ...unmarked(996, 1_004)]],
  ])('is read from the newest on, as it tells by %s', async (_by, listed) => {
    const { unknown, unidentified, unread } = await sweep(listed, [], { alone }).found;
    expect(unknown).toMatchObject([{ instructionId: NEWEST, submitted: true }]);
    expect([unidentified.length, unread]).toEqual([1_004, 5]);
  });

  it('is read whole where it is no more than that, and nothing of it is said to be left', async () => {
    const { unknown, unread } = await sweep([...unmarked(5000, 1), ...unmarked(1000, 999)], [], { alone })
      .found;
    expect([unknown.length, unread]).toEqual([1, 0]);
  });
});
