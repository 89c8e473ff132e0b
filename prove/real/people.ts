import { setTimeout as sleep } from 'node:timers/promises';
import { isPayRunFinal, type PayRunStatus } from '../../src/domain/pay-run';
import type { Payroll } from '../../test/support/payroll';
import { saidAgain } from './said-again';

/** What people are asked. */
export interface Asking {
  id: string;
  kind: string;
  payRunId: string | null;
  actions: string[];
}

const LOOK_MS = 240;

/** What people are asked and have not decided. */
export async function openOf(payroll: Payroll): Promise<Asking[]> {
  const { data } = await saidAgain(() => payroll.as('operator').get(payroll.path('/attention')));
  return data.items;
}

/** The two people who decide what the service asks, by the bank's book. */
export class People {
  /** What the desk refused whatever was tried, in words by the id of what was asked. */
  private readonly refusals = new Map<string, string>();

  constructor(
    private readonly payroll: Payroll,
    private readonly patienceMs: number,
  ) {}

  /** Decides every attention that is open; answers whether any of the run, or of all runs, was. */
  async decide(id: string): Promise<boolean> {
    const endMs = Date.now() + this.patienceMs;
    let decided = false;
    while (Date.now() < endMs) {
      const open = await openOf(this.payroll);
      for (const one of open) {
        const concerned = one.payRunId === id || one.payRunId === null;
        decided = ((await this.answer(one)) && concerned) || decided;
      }
      const run = await this.payroll.run(id);
      // An amendment that excludes a refused row is approved by the other person, once all of the run is given up.
      if (decided && run.status === 'READY') await this.payroll.approve(run);
      if (open.length === 0 && (!decided || isPayRunFinal(run.status as PayRunStatus))) break;
      await sleep(LOOK_MS);
    }
    return decided;
  }

  /** What the desk has refused of this, in words; undefined where it refused nothing. */
  refusalOf({ id }: Pick<Asking, 'id'>): string | undefined {
    return this.refusals.get(id);
  }

  private async answer({ id, kind, actions }: Asking): Promise<boolean> {
    const path = this.payroll.path(`/attention/${id}`);
    const refusals: string[] = [];
    for (const action of await this.choicesOf(id, actions)) {
      const word = { action, reason: 'decided in the proof', evidence: 'by the book of the bank' };
      const proposed = await saidAgain(() => this.payroll.propose(path, word));
      const confirmed = await this.payroll.confirm(path);
      if (confirmed.status === 200) {
        this.refusals.delete(id);
        return true;
      }
      const { status, data } = proposed.status < 300 ? confirmed : proposed;
      refusals.push(`${action} (${status} ${data?.code})`);
      await this.payroll.as('operator').delete(`${path}/actions`);
    }
    this.refusals.set(id, `${kind} stayed open: the desk refused ${refusals.join(', ')}`);
    return false;
  }

  private async choicesOf(attentionId: string, actions: readonly string[]): Promise<string[]> {
    if (actions.includes('RESUME')) return ['RESUME'];
    if (actions.includes('EXECUTED'))
      return [(await this.atBank(attentionId)).submitted ? 'EXECUTED' : 'NOT_EXECUTED'];
    if (actions.includes('PAID')) return [(await this.atBank(attentionId)).paid ? 'PAID' : 'NOT_PAID'];
    return [actions[0] ?? 'ACKNOWLEDGE'];
  }

  /** Whether an instruction was submitted and all of it was paid, as the bank's written word says it. */
  private async atBank(attentionId: string): Promise<{ submitted: boolean; paid: boolean }> {
    const answered = (path: string) =>
      saidAgain(() => this.payroll.as('finance').get(this.payroll.path(path)));
    const { data } = await answered(`/attention/${attentionId}`);
    const { data: run } = await answered(`/pay-runs/${data.payRunId}`);
    const part = run.instructions.find((one: { id: string }) => one.id === data.instructionId);
    const { instructions } = await this.payroll.ledger();
    const atBank = instructions.find((one) => String(one.id) === String(part?.bankInstructionId));
    return {
      submitted: (atBank?.submits ?? 0) > 0,
      paid: atBank?.rows.every(({ moved }) => moved > 0) ?? false,
    };
  }
}
