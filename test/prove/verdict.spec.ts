import { ModelBank } from '../../prove/model/bank';
import type { Context } from '../../prove/model/context';
import { breaksRule } from '../../prove/model/play';
import { Random } from '../../prove/model/random';
import { Store } from '../../prove/model/store';
import { judge, type Verdict } from '../../prove/model/verdict';
import { drawWorld, type World } from '../../prove/model/world';
import type { PayRunStatus } from '../../src/domain/pay-run';
import type { PaymentStatus } from '../../src/domain/payment';

/** A bank that keeps what is assumed of it, and people who go around nobody. */
const AS_ASSUMED = {
  outside: undefined,
  executesSecondSubmit: false,
  tampered: false,
  armedByHand: false,
} as const;

const IBAN = 'E0';
const PAID_MINOR = 1_000n;

function worldOf(changed: Partial<World> = {}): Context {
  const random = new Random(1);
  const world = { ...drawWorld(random, undefined), ...AS_ASSUMED, ...changed };
  return { store: new Store(), bank: new ModelBank(random, world), random, world, without: undefined };
}

/** A run of one payment, which moved nothing yet. */
function addRun({ store }: Context, status: PayRunStatus, said: PaymentStatus): void {
  const sums = { amountMinor: PAID_MINOR, approvedMinor: PAID_MINOR };
  const payment = { rowNo: 0, iban: IBAN, approvedIban: IBAN, ...sums, bankStatus: null, rank: 0 };
  store.addRun([{ ...payment, status: said }], 1, undefined).status = status;
}

function judged(status: PayRunStatus, said: PaymentStatus): Verdict {
  const context = worldOf();
  addRun(context, status, said);
  return judge(context);
}

describe('the judge of the model', () => {
  it.each(['SETTLED', 'PARTLY_SETTLED', 'FAILED', 'CANCELLED'] as const)(
    'finds a payment that is left open by a run that is %s',
    (status) => {
      for (const said of ['APPROVED', 'AT_BANK', 'SUBMITTED'] as const)
        expect(judged(status, said)).toMatchObject({ silent: true });
    },
  );

  it('finds a payment of a cancelled run that says it was sent', () => {
    expect(judged('CANCELLED', 'FAILED')).toMatchObject({ silent: true });
    expect(judged('CANCELLED', 'CANCELLED')).toMatchObject({ silent: false });
  });

  it('says nothing of a payment whose run goes on, nor of one that ended unpaid with its run', () => {
    for (const status of ['APPROVED', 'BUILDING', 'FOLLOWING'] as const)
      expect(judged(status, 'AT_BANK')).toMatchObject({ silent: false });
    expect(judged('FAILED', 'VOID')).toMatchObject({ silent: false });
  });

  it('judges run by run: a successor that goes on excuses no run that ended', () => {
    const context = worldOf();
    addRun(context, 'FAILED', 'AT_BANK');
    addRun(context, 'FOLLOWING', 'SUBMITTED');
    expect(judge(context)).toMatchObject({ silent: true });
  });

  it('breaks where people are left with what they could not decide, and nobody went around them', () => {
    const leaves = (changed: Partial<World>): boolean => {
      const context = worldOf(changed);
      context.store.raise('SUBMIT_UNKNOWN', 0);
      return breaksRule(judge(context));
    };
    expect(leaves({})).toBe(true);
    for (const changed of [{ tampered: true }, { armedByHand: true }, { outside: 'doubled-post' }] as const)
      expect(leaves(changed)).toBe(false);
  });
});
