import type { AxiosResponse } from 'axios';
import { MAGIC_CREDITORS } from '../../src/bank-sandbox/magic';
import { execute } from './database';
import { eventually } from './eventually';
import { MovedClock, Payroll } from './payroll';

const of = (wanted: string): string => MAGIC_CREDITORS.find(({ effect }) => effect === wanted)!.iban;

/** What is paid there is sent back within the week. */
export const RETURNS = of('returnedTwoDaysLater');
export const FAILS = of('fails');

interface ShownPayment {
  id: string;
  line: number;
  amount: string;
  status: string;
  returnedAt: string | null;
}

/** A payroll at a bank that sends pay back, and what people do about it. */
export class ReturnedPay {
  constructor(readonly payroll: Payroll) {}

  /** @param returnChargeMinor what less comes back than was paid */
  static async start(returnChargeMinor = 0): Promise<ReturnedPay> {
    const variants = { linkReads: 'allowed', omitFromLists: [], chargeMinor: 0, returnChargeMinor } as const;
    return new ReturnedPay(await Payroll.start({ clock: new MovedClock(), sandbox: { variants } }));
  }

  /** Follows at once until it holds. */
  until(holds: () => Promise<boolean>): Promise<void> {
    return eventually(async () => {
      await execute(
        this.payroll.database.superuserUrl,
        `UPDATE lease SET wake_at = now(), woken_at = now() WHERE kind = 'FOLLOW' AND holder IS NULL`,
      );
      return holds();
    }, 20_000);
  }

  /** A week later the bank has sent back what it does, of one payment of each of these runs. */
  async aWeekLater(...ids: string[]): Promise<void> {
    const { clock } = this.payroll;
    const later = new Date(clock.now().getTime() + 7 * 86_400_000);
    await this.payroll.bankClock(later);
    clock.set(later);
    for (const id of ids) await this.until(async () => (await this.payroll.run(id)).returned.payments === 1);
  }

  /** An approver releases what is held of a run. @returns for what */
  async release(id: string): Promise<string[]> {
    const holds = this.payroll.path(`/pay-runs/${id}/holds`);
    const approver = this.payroll.as('approver');
    const codes: string[] = [];
    for (const { payment, code } of (await approver.get(`${holds}?open=true`)).data.items) {
      codes.push(code);
      const body = { paymentId: payment?.id, code, reason: 'she is owed it' };
      const answer = await approver.post(`${holds}/release`, body);
      expect([answer.status, answer.data.detail]).toEqual([200, undefined]);
    }
    return codes;
  }

  /** A run is approved and ends. */
  async isPaid(id: string, status = 'SETTLED'): Promise<void> {
    expect((await this.payroll.approve(await this.payroll.run(id))).status).toBe(200);
    await this.until(async () => (await this.payroll.run(id)).status === status);
  }

  async paymentsOf(id: string): Promise<ShownPayment[]> {
    const path = this.payroll.path(`/pay-runs/${id}/payments?limit=10`);
    return (await this.payroll.as('approver').get(path)).data.items;
  }

  /** Asks for a successor of one payment of a run: of what came back unless another is named, or else of the first. */
  async successorOf(
    id: string,
    paymentId?: string,
    due: Record<string, unknown> = {},
  ): Promise<AxiosResponse> {
    const payments = await this.paymentsOf(id);
    const one = payments.find(({ returnedAt }) => returnedAt) ?? payments[0]!;
    return this.payroll.as('preparer').post(this.payroll.path(`/pay-runs/${id}/successor`), {
      executionDate: this.payroll.executionDate(),
      submitAt: this.payroll.clock.now().toISOString(),
      paymentIds: [paymentId ?? one.id],
      reason: 'the account is open again',
      ...due,
    });
  }
}
