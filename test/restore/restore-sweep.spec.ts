import { BankError, ContractDrift, ListUnreadable, NotAllowed, NotFound } from '../../src/bank/errors';
import type { BankGateway } from '../../src/bank/gateway';
import type { ListSize } from '../../src/bank/paging';
import type { Database } from '../../src/database/database';
import { messageIdOf } from '../../src/pay-run/message-id';
import { type Before, RestoreSweep } from '../../src/restore/restore-sweep';
import { UnsubmittedProof } from '../../src/submission/unsubmitted-proof';

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
  direction?: string;
  /** Whether it does not follow the interface. */
  isOdd?: boolean;
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
  /** In which status that is shown. */
  shownStatus?: string;
  status?: string;
  /** Message ids that payments read alone show. */
  alone?: Record<string, string>;
  /** Ids of payments that have settled by the record. */
  settled?: readonly string[];
  /** What an earlier reading could not tell whose it is. */
  unidentified?: string[];
  /** Whether no count confirms the end of the list without a date, or that of the one from a date on. */
  mayGoOn?: true;
  mayGoOnSince?: true | 'at first';
  /** Ids of payments that the record has of the instruction that it knows. */
  recorded?: readonly string[];
  /** What the list without a date fails with behind what it shows; and that from a date on, from the second time on. */
  failure?: Error;
  failureAgain?: Error;
  /** Whether the former does, too. */
  failsWholeAgain?: true;
  /** What reads of an instruction fail with. */
  away?: Error;
  /** What an earlier reading showed of what the record has. */
  moved?: Before['moved'];
  /** Whether the list was seen to show what is not submitted before. */
  showsUnsubmitted?: boolean;
  lagMs?: number;
}

const RECORDED = 'Z2';

/** At a bank that answers so without a date, and so from one on; the database knows one instruction. */
function sweep(
  all: readonly Listed[] | Error,
  since: readonly Listed[] | Error,
  {
    shown = {},
    shownStatus = 'SETTLED',
    status = 'VERIFIED',
    alone = {},
    settled = [],
    unidentified = [],
    mayGoOn,
    mayGoOnSince,
    recorded = [],
    failure,
    failureAgain,
    failsWholeAgain,
    away,
    moved = [],
    showsUnsubmitted = false,
    lagMs = 0,
  }: Known = {},
) {
  const asked: (string | undefined)[] = [];
  const read: string[] = [];
  let listedMs = Infinity;
  async function* listStatuses(
    { from }: { from?: string },
    isWanted: (marks: Listed & { madeMs?: number }) => boolean,
    onEnd: (size: ListSize) => void,
  ) {
    asked.push(from);
    const answer = from === undefined ? all : since;
    if (answer instanceof Error) throw answer;
    const isAgain = asked.filter((one) => one === from).length > 1;
    if (failureAgain && isAgain && (failsWholeAgain || from !== undefined)) throw failureAgain;
    const wanted = answer.filter((one) => isWanted({ ...one, madeMs: one.datedMs }));
    if (wanted.some(({ isOdd }) => isOdd)) throw new ContractDrift(['status']);
    yield* await Promise.resolve(wanted);
    if (failure && from === undefined) throw failure;
    const isFirst = asked.filter((one) => one === from).length === 1;
    const sinceThen = mayGoOnSince === 'at first' ? isFirst || undefined : mayGoOnSince;
    onEnd({ rows: answer.length, mayGoOn: from === undefined ? mayGoOn : sinceThen });
    listedMs = performance.now();
  }
  const gateway = {
    listStatuses,
    getInstruction: (id: string) => {
      read.push(performance.now() < listedMs + lagMs - 2 ? `${id} at once` : id);
      if (away) return Promise.reject(away);
      return id in shown
        ? Promise.resolve({ bankInstructionId: shown[id], status: shownStatus })
        : Promise.reject(new NotFound(404, raw));
    },
    getPayment: ([id]: readonly string[]) =>
      id! in alone ? Promise.resolve({ messageId: alone[id!] }) : Promise.reject(new NotFound(404, raw)),
  } as unknown as BankGateway;
  const query = (sql: string, [bankIds = [], instructionIds = []]: string[][]) => {
    const isKnown = bankIds.includes(RECORDED) || instructionIds.includes(KNOWN);
    const named = isKnown ? [{ id: KNOWN, bank_instruction_id: RECORDED, status }] : [];
    const ofPayments = bankIds.some((id) => recorded.includes(id)) ? [{ id: RECORDED }] : [];
    return Promise.resolve(sql.includes('JOIN instruction') ? ofPayments : named);
  };
  const unsent = status === 'VERIFIED' ? [{ id: KNOWN, bank_instruction_id: RECORDED }] : [];
  const ofEmployer = (sql: string) =>
    Promise.resolve(
      sql.includes('bank_payment')
        ? settled.map((bankPaymentId) => ({ instructionId: KNOWN, bankPaymentId }))
        : unsent,
    );
  const database = {
    asWorker: (work: (tx: unknown) => unknown) => work({ query }),
    inEmployer: (employerId: string, work: (tx: unknown) => unknown) =>
      work({ employerId, query: ofEmployer }),
  } as unknown as Database;
  const proof = new UnsubmittedProof(database, gateway);
  const sweeping = new RestoreSweep(database, gateway, proof, { BANK_LAG_BOUND_MS: lagMs });
  const before = { unknown: [], moved, unidentified, showsUnsubmitted };
  return { asked, read, found: sweeping.since(FROM, false, ['7'], before) };
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
    expect(asked).toEqual([FROM.toISOString(), undefined]);
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
    expect(asked).toEqual([FROM.toISOString(), undefined]);
  });

  it.each([
    ['is refused', new NotAllowed(403, raw)],
    ['is more than is read of any list', new ListUnreadable('too-many-pages')],
  ])('is known as far as it is shown before a page that %s', async (_how, failure) => {
    const forgotten = { ...ours(KNOWN), bankInstructionId: 'Z', bankPaymentId: '816', ids: ['816'] };
    expect(await sweep([forgotten], [], { failure }).found).toMatchObject({
      readable: false,
      unknown: [{ bankInstructionId: 'Z' }],
    });
  });

  it.each([
    ['refused', new NotAllowed(403, raw)],
    ['never there', new NotFound(404, raw)],
  ])('is not known where it is %s', async (_how, refusal) => {
    expect(await sweep(refusal, refusal).found).toMatchObject({ readable: false, unknown: [], moved: [] });
  });

  it('is read again where it cannot be read to its end for now', async () => {
    const found = await sweep(new ListUnreadable('gap'), []).found;
    expect(found).toMatchObject({ readable: false, failure: new ListUnreadable('gap') });
  });

  it.each([
    ['SETTLED', true, false],
    ['INITIATED', false, true],
  ])(
    'is of an instruction that its message ids name where the bank does not: one that is %s',
    async (status, submitted, isUnclear) => {
      const instructionId = '018f0000-0000-7000-8000-000000000002';
      const forgotten = { ...ours(instructionId), status, ids: ['816'], bankPaymentId: '816' };
      const { read, found } = sweep([ours(KNOWN), forgotten], []);
      const { unknown, unidentified } = await found;
      expect(unknown).toMatchObject([
        { bankInstructionId: 'payment 816', instructionId, status, submitted, isUnclear },
      ]);
      expect([unidentified, read]).toEqual([[], []]);
    },
  );

  it('is of nobody knows whom where neither it nor a read of it alone names anything', async () => {
    const nobodys = { ...ours(KNOWN), messageId: undefined, ids: ['816'], bankPaymentId: '816' };
    const { found } = sweep([ours(KNOWN), nobodys], []);
    expect(await found).toMatchObject({ readable: true, unknown: [], unidentified: ['816'] });
  });

  it('is of nobody knows whom, too, where it was so before: also where it is not shown any more, and not where it is told by now', async () => {
    const stillOpen = { ...ours(KNOWN), messageId: undefined, ids: ['816'], bankPaymentId: '816' };
    const unidentified = ['815', '816', '817'];
    expect(await sweep([ours(KNOWN), stillOpen], [], { unidentified }).found).toMatchObject({
      unidentified: ['816', '817'],
    });
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

describe('a list of a bank after a restore', () => {
  const NEW = '018f0000-0000-7000-8000-000000000002';
  const settled = ours(KNOWN);
  const another = { ...ours(NEW), status: 'EXCHANGED', ids: ['816'], bankPaymentId: '816' };

  it.each([
    ['shows none of ours as settled', [another], {}],
    ['does not show what the record has as settled', [settled, another], { settled: ['815', '700'] }],
    ['shows that only as on its way', [{ ...settled, status: 'EXCHANGED' }], { settled: ['815'] }],
    ['may go on, since no count confirms its end', [settled], { mayGoOn: true }],
    ['may go on so from a date on', [settled], { mayGoOnSince: true }],
  ] as const)('is not believed to be whole where it %s', async (_as, listed, known) => {
    expect(await sweep(listed, [], known).found).toMatchObject({ readable: false });
  });

  it.each([
    ['what the record has as settled', [settled], { settled: ['815'] }],
    ['that as come back', [{ ...settled, status: 'RETURNED' }], { settled: ['815'] }],
    ['a payment as settled that is ours, as that shows by itself', [{ ...settled, messageId: undefined }]],
  ] as const)('is believed to be whole where it shows %s', async (_what, listed, known: Known = {}) => {
    const alone = { '815': messageIdOf(NEW, 1) };
    expect(await sweep(listed, [], { alone, ...known }).found).toMatchObject({ readable: true });
  });

  it('is read anew from the date on, and then as a whole, where only that told what the bank counts', async () => {
    const { asked, found } = sweep([settled], [], { mayGoOnSince: 'at first' });
    expect(await found).toMatchObject({ readable: true });
    const from = FROM.toISOString();
    expect(asked).toEqual([from, undefined, from, undefined]);
  });

  it.each([
    ['not found', new NotFound(404, raw)],
    ['refused', new BankError(400, raw)],
  ])('has shown what it showed at first, where it is %s when it is read anew', async (_how, failureAgain) => {
    const forgotten = { ...another, status: 'SETTLED', bankInstructionId: 'X' };
    const known = { mayGoOnSince: 'at first', failureAgain, shown: { X: 'X' } } as const;
    const { asked, found } = sweep([settled], [settled, forgotten], known);
    expect(await found).toMatchObject({ readable: false, unknown: [{ bankInstructionId: 'X' }] });
    expect(asked).toHaveLength(4);
  });

  it('has shown what the whole one showed at first, too', async () => {
    const forgotten = { ...another, status: 'SETTLED', bankInstructionId: 'X' };
    const failureAgain = new NotFound(404, raw);
    const known = {
      mayGoOnSince: 'at first',
      failureAgain,
      failsWholeAgain: true,
      shown: { X: 'X' },
    } as const;
    const { found } = sweep([settled, forgotten], [], known);
    expect(await found).toMatchObject({ unknown: [{ bankInstructionId: 'X' }] });
  });

  it.each([
    ['it fails', { failure: new BankError(503, raw), shown: { X: 'X' } }],
    ['reads of instructions fail', { away: new BankError(503, raw) }],
  ])('has shown what it showed before %s, which is no reading of it', async (_what, known: Known) => {
    const forgotten = { ...another, status: 'SETTLED', bankInstructionId: 'X' };
    expect(await sweep([settled, forgotten], [forgotten], known).found).toMatchObject({
      readable: false,
      failure: new BankError(503, raw),
      unknown: [{ bankInstructionId: 'X', instructionId: NEW, submitted: true }],
    });
  });

  it('has shown what it showed before the proof fails that it shows what is unsubmitted', async () => {
    const held = {
      ...another,
      status: 'INITIATED',
      bankInstructionId: RECORDED,
      messageId: messageIdOf(KNOWN, 2),
    };
    const forgotten = { ...another, ids: ['817'], bankPaymentId: '817' };
    const { found } = sweep([settled, held, forgotten], [], { away: new BankError(503, raw) });
    expect(await found).toMatchObject({
      readable: false,
      failure: new BankError(503, raw),
      unknown: [{ bankInstructionId: 'payment 817', instructionId: NEW }],
    });
  });

  it('tells by now whose it is that an earlier reading could not, under the same name', async () => {
    const unidentified = ['payment 816'];
    expect(await sweep([settled, another], [], { unidentified }).found).toMatchObject({ unidentified: [] });
  });

  it('reads no other instruction once one cannot be read for now, nor the whole list once the other cannot', async () => {
    const two = ['X', 'Y'].map((id, n) => ({
      ...another,
      bankInstructionId: id,
      ids: [`90${n}`],
      bankPaymentId: `90${n}`,
    }));
    const { read, found } = sweep([settled, ...two], [], { away: new BankError(503, raw) });
    expect((await found).unknown).toHaveLength(2);
    expect(read).toHaveLength(1);
    const { asked, found: failing } = sweep([settled], new BankError(503, raw));
    expect((await failing).failure).toBeInstanceOf(BankError);
    expect(asked).toHaveLength(1);
  });

  it('is not taken for forgotten by message ids of the record alone, while the bank cannot be read', async () => {
    const asZ = { ...settled, bankInstructionId: 'Z' };
    expect(await sweep([asZ], [], { away: new BankError(503, raw) }).found).toMatchObject({ unknown: [] });
  });

  it('shows what is the record’s as an earlier reading did, too, once', async () => {
    const moved = [{ bankInstructionId: undefined, instructionId: KNOWN, status: 'SETTLED' }];
    for (const listed of [[], [settled]])
      expect((await sweep(listed, [], { moved }).found).moved).toEqual(moved);
  });

  const initiated = { ...ours(NEW), status: 'INITIATED', ids: ['818'], bankPaymentId: '818' };
  const old = { datedMs: +FROM - 1 };
  const held = { ...initiated, bankInstructionId: RECORDED, messageId: messageIdOf(KNOWN, 1) };
  const named = { ...initiated, bankInstructionId: 'Z' };
  const second = { status: 'INI_SOMETHING', ids: ['819'], bankPaymentId: '819' };
  const unnamed = { ...held, bankInstructionId: undefined };
  const inwardOf = { direction: 'INWARD', status: 'INI_STARTED' };
  const BEFORE = { shown: { [RECORDED]: RECORDED, Z: 'Z' }, shownStatus: 'INITIATED' };
  const SINCE = { ...BEFORE, shownStatus: 'SUB_STARTED' };

  it.each([
    ['what the record holds as unsent', [held], BEFORE],
    ['that without a message id', [{ ...held, messageId: undefined }], BEFORE],
    ['that of long ago', [{ ...held, ...old }], BEFORE],
    ['that under no instruction, as the record has it', [unnamed], { ...BEFORE, recorded: ['818'] }],
    ['what the record gave up long ago', [{ ...held, ...old }], { ...BEFORE, status: 'ABANDONED' }],
    ['what is ours and the record has no more', [named], BEFORE],
    ['that of long ago', [{ ...named, ...old }], BEFORE],
  ] as [string, Listed[], Known][])(
    'is seen to show what is not submitted by %s, a lag bound later',
    async (_what, listed, known) => {
      const { read, found } = sweep(listed, [], { ...known, lagMs: 50 });
      expect(await found).toMatchObject({ showsUnsubmitted: true });
      expect(read.at(-1)).not.toContain('at once');
    },
  );

  it.each([
    ['what is submitted since', [held], SINCE],
    ['what the bank does not show', [held], {}],
    ['what the record has as submitted', [held], { ...BEFORE, status: 'SUBMITTED' }],
    ['that of long ago', [{ ...held, ...old }], { ...BEFORE, status: 'SUBMITTED' }],
    [
      'what somebody else submitted once it was given up',
      [{ ...held, ...old }],
      { ...SINCE, status: 'ABANDONED' },
    ],
    ['what is submitted and forgotten', [named], SINCE],
    ['that of long ago', [{ ...named, ...old }], SINCE],
    ['what names no instruction and is not in the record', [unnamed], BEFORE],
    ['what is in an undocumented status in part', [held, { ...held, ...second }], BEFORE],
    [
      'what is so in part and forgotten, of long ago',
      [
        { ...named, ...old },
        { ...named, ...old, ...second },
      ],
      BEFORE,
    ],
    ['what has ended long ago', [{ ...named, ...old, status: 'CANCELLED' }], BEFORE],
    ['what has ended', [{ ...held, status: 'CANCELLED' }], BEFORE],
    ['what comes in', [{ ...held, ...inwardOf }], BEFORE],
    ['what came in long ago', [{ ...held, ...inwardOf, ...old }], { ...BEFORE, status: 'ABANDONED' }],
    ['what is of somebody else', [{ ...named, messageId: 'invoice 4711' }], BEFORE],
    ['what was sent', [another], BEFORE],
  ] as [string, Listed[], Known][])(
    'is not seen to show what is not submitted by %s',
    async (_what, listed, known) => {
      expect(await sweep(listed, [], known).found).toMatchObject({ showsUnsubmitted: false });
    },
  );

  it('is not waited for where all that it shows so is read as submitted and forgotten', async () => {
    const { read, found } = sweep([named], [], { ...SINCE, lagMs: 5_000 });
    expect([(await found).showsUnsubmitted, read]).toEqual([false, ['Z at once']]);
  });

  it('is not read for that where it was seen to before', async () => {
    const { read, found } = sweep([held], [], { ...SINCE, showsUnsubmitted: true });
    expect([(await found).showsUnsubmitted, read]).toEqual([true, []]);
  });

  it('shows from a date on what it hides without: that is found, and the other not believed to be whole', async () => {
    const { found } = sweep([settled], [another]);
    expect(await found).toMatchObject({
      readable: false,
      unknown: [{ instructionId: NEW, submitted: true }],
    });
  });

  it('shows a part of an instruction without a date, and more of it from one on', async () => {
    const more = { ...another, ids: ['817'], bankPaymentId: '817' };
    const { found } = sweep([settled, another], [settled, another, more]);
    expect(await found).toMatchObject({ readable: false, unknown: [{ instructionId: NEW, payments: 2 }] });
  });

  const inward = { ...another, direction: 'INWARD', status: 'SETTLED' };

  it('shows a transfer within the bank as come in alone: it was submitted', async () => {
    const { unknown } = await sweep([settled, inward], []).found;
    expect(unknown).toMatchObject([{ instructionId: NEW, submitted: true, payments: 1 }]);
  });

  it.each([
    ['before it', [inward, { ...another, ids: ['817'], bankPaymentId: '817' }]],
    ['after it', [{ ...another, ids: ['817'], bankPaymentId: '817' }, inward]],
    [
      'under no instruction',
      [
        { ...another, bankInstructionId: 'Z' },
        { ...inward, bankPaymentId: '817' },
      ],
    ],
  ])('shows what came in beside what was sent: that is told once (%s)', async (_when, listed) => {
    const { unknown } = await sweep([settled, ...listed], []).found;
    expect(unknown).toMatchObject([{ instructionId: NEW, submitted: true, payments: 1 }]);
  });

  it('shows from a date on what came in of what was sent before it: the whole list lacks nothing', async () => {
    const before = { ...settled, datedMs: +FROM - 1 };
    const cameBack = { ...settled, direction: 'INWARD', ids: ['817'], bankPaymentId: '817', datedMs: +FROM };
    expect(await sweep([before, cameBack], [cameBack], { status: 'CLOSED' }).found).toMatchObject({
      readable: true,
      unknown: [],
      unidentified: [],
    });
  });

  it('shows what came in and names nobody: that is none of ours', async () => {
    const theirs = [undefined, 'invoice 4711'].map((messageId) => ({ ...inward, messageId }));
    expect(await sweep([settled, ...theirs], []).found).toMatchObject({ unknown: [], unidentified: [] });
  });

  const odd = { ...settled, messageId: undefined, bankInstructionId: 'A', bankPaymentId: '9', isOdd: true };

  it('is read though an older record that names nobody cannot be', async () => {
    const { found } = sweep([{ ...odd, datedMs: +FROM - 1 }, settled], []);
    expect(await found).toMatchObject({ readable: true, unidentified: [] });
  });

  it.each([[undefined], [+FROM]])('is not where one that may be as young cannot be (%s)', async (datedMs) => {
    const { failure } = await sweep([{ ...odd, datedMs }, settled], []).found;
    expect(failure).toBeInstanceOf(ContractDrift);
  });

  it.each([
    ['the bank names', { bankInstructionId: RECORDED, messageId: undefined }],
    ['its message ids name', {}],
  ])('shows as submitted what was built long before: the record has it, as %s', async (_as, named) => {
    const { moved, unknown } = await sweep([{ ...settled, ...named, datedMs: +FROM - 1 }], []).found;
    expect(moved).toMatchObject([{ status: 'SETTLED' }]);
    expect(unknown).toEqual([]);
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
