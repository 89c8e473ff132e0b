import { BankError, NotAllowed, NotFound } from '../../src/bank/errors';
import type { BankGateway } from '../../src/bank/gateway';
import { ListedUnsubmitted, UnsubmittedProof } from '../../src/submission/unsubmitted-proof';
import { NothingAsked, nothingAsked } from '../pay-run/nothing-asked';

const raw = { raw: '' };
let office: NothingAsked;
beforeAll(async () => {
  office = await nothingAsked();
});
afterAll(() => office.close());

let read: string[];
beforeEach(() => {
  read = [];
});

/** At a bank that shows instructions in these statuses, or fails to. */
function isGiven(
  shown: Record<string, string | Error>,
  listed: readonly ListedUnsubmitted[],
  showsNothing: (error: unknown) => boolean = (error) => error instanceof NotAllowed,
): Promise<boolean> {
  const getInstruction = (id: string) => {
    read.push(id);
    const status = shown[id] ?? new NotFound(404, raw);
    return status instanceof Error ? Promise.reject(status) : Promise.resolve({ status });
  };
  const gateway = { getInstruction } as unknown as BankGateway;
  return new UnsubmittedProof(office.database, gateway).isGiven(listed, showsNothing);
}

const of = (...ids: string[]): ListedUnsubmitted[] =>
  ids.map((bankInstructionId) => ({ bankInstructionId, bankPaymentId: 'P' }));

describe('that a list shows what is not submitted', () => {
  it.each<[string, Record<string, string | Error>, boolean, string[]]>([
    ['the first that is before its submit', { A: 'INITIATED', B: 'INITIATED' }, true, ['A']],
    ['one behind what is submitted', { A: 'SUB_STARTED', B: 'INITIATED' }, true, ['A', 'B']],
    ['one behind what cannot be read', { A: new NotAllowed(403, raw), B: 'INITIATED' }, true, ['A', 'B']],
    ['one behind what fails', { A: new BankError(500, raw), B: 'INITIATED' }, true, ['A', 'B']],
    ['none that has ended', { A: 'CANCELLED', B: 'SUB_REQUIRED' }, false, ['A', 'B']],
    ['none in an undocumented status', { A: 'INI_SOMETHING', B: 'SUB_REQUIRED' }, false, ['A', 'B']],
    ['none that cannot be read', { A: new NotAllowed(403, raw), B: 'SUB_REQUIRED' }, false, ['A', 'B']],
  ])('is given by %s', async (_what, shown, given, asked) => {
    expect([await isGiven(shown, of('A', 'B', 'B')), read]).toEqual([given, asked]);
  });

  it('is not known while one cannot be read that may be a little later', async () => {
    const shown = { A: new BankError(500, raw), B: 'SUB_REQUIRED' };
    await expect(isGiven(shown, of('A', 'B'))).rejects.toThrow(BankError);
    expect(await isGiven(shown, of('A', 'B'), () => true)).toBe(false);
  });

  it('is given by an instruction that the list does not name, and the record has by its payment', async () => {
    const shown = { 'bank-1-1': 'INITIATED' };
    expect(await isGiven(shown, [{ bankPaymentId: 'bank-payment-1-1' }, ...of('A')], () => true)).toBe(true);
    expect(read).toEqual(['A', 'bank-1-1']);
    expect(await isGiven(shown, [{ bankPaymentId: 'unknown' }])).toBe(false);
  });

  it('is looked for in a hundred at most', async () => {
    const ids = Array.from({ length: 101 }, (_, index) => String(index));
    expect(await isGiven({ '100': 'INITIATED' }, of(...ids), () => true)).toBe(false);
    expect(read).toHaveLength(100);
  });
});
