import { INSTRUCTION_STATUSES, INSTRUCTION_TRANSITIONS } from '../../src/domain/instruction';
import { PAY_RUN_STATUSES, PAY_RUN_TRANSITIONS } from '../../src/domain/pay-run';
import { LIVE_PAYMENT_STATUSES, PAYMENT_STATUSES, PAYMENT_TRANSITIONS } from '../../src/domain/payment';
import { DONE, trials } from './trials';
import { assignments, insertion, secondRows } from './two-employers';

const { outcomeOf } = trials();

describe('moves', () => {
  /** What a row looks like in a state, beside its status. */
  const SHAPES = {
    pay_run: () => ({}),
    instruction: () => ({ outcome: 'FAILED' }),
    payment: (status: string) => ({
      live: LIVE_PAYMENT_STATUSES.some((live) => live === status),
      excluded_reason: status === 'EXCLUDED' ? 'out' : null,
    }),
  };

  const { id: instruction } = secondRows(1).instruction;
  const { id: payment, row_no } = secondRows(1).payment;
  const { attention, attention_action: action, pay_hold: hold } = secondRows(1);
  /** What people have decided of it, without which some moves are another guard's matter. */
  const DECIDED = {
    pay_run: [],
    instruction: [
      insertion('attention', { ...attention, kind: 'SUBMIT_UNKNOWN', instruction_id: instruction }),
      insertion('attention_action', {
        ...action,
        attention_id: attention.id,
        action: 'NOT_EXECUTED',
        payment_ids: null,
      }),
    ],
    payment: [insertion('pay_hold', { ...hold, row_no, payment_id: payment })],
  };

  /** Every move of a subject that the schema lets pass. */
  async function allowedMoves(table: keyof typeof SHAPES, statuses: readonly string[]): Promise<string[]> {
    const row = secondRows(1)[table];
    const moves: string[] = [];
    for (const from of statuses) {
      const inserted = insertion(table, { ...row, status: from, ...SHAPES[table](from) });
      for (const to of statuses) {
        const changes = assignments({ status: to, ...SHAPES[table](to) });
        const outcome = await outcomeOf(
          inserted,
          ...DECIDED[table],
          `UPDATE ${table} SET ${changes} WHERE id = '${row.id}'`,
        );
        expect([DONE, 'legal_moves_only']).toContain(outcome);
        if (outcome === DONE && from !== to) moves.push(`${from} ${to}`);
      }
    }
    return moves.sort();
  }

  const pairs = (table: Readonly<Record<string, readonly string[]>>) =>
    Object.entries(table)
      .flatMap(([from, tos]) => tos.map((to) => `${from} ${to}`))
      .sort();

  it('of a run are those of the domain, out of every one there could be', async () => {
    expect(await allowedMoves('pay_run', PAY_RUN_STATUSES)).toEqual(pairs(PAY_RUN_TRANSITIONS));
  });

  it('of an instruction are those of the domain, out of every one there could be', async () => {
    expect(await allowedMoves('instruction', INSTRUCTION_STATUSES)).toEqual(pairs(INSTRUCTION_TRANSITIONS));
  });

  it('of a payment are those of the domain, out of every one there could be', async () => {
    expect(await allowedMoves('payment', PAYMENT_STATUSES)).toEqual(pairs(PAYMENT_TRANSITIONS));
  });

  it('of what became of a submit lead to proof, and never from one proof to another', async () => {
    const outcomes = [null, 'IN_DOUBT', 'REFUSED', 'EXECUTED', 'PROVEN_UNSENT'];
    const moves: string[] = [];
    for (const from of outcomes) {
      const { submit_attempt: attempt } = secondRows(1);
      // What is inserted as executed was forgotten, which is another guard's matter.
      const inserted =
        insertion('submit_attempt', { ...attempt, outcome: null }) +
        (from === null ? '' : `; UPDATE submit_attempt SET outcome = '${from}' WHERE id = '${attempt.id}'`);
      for (const to of outcomes.filter((one) => one !== from)) {
        const change = `UPDATE submit_attempt SET ${assignments({ outcome: to })} WHERE id = '${attempt.id}'`;
        const outcome = await outcomeOf(inserted, change);
        expect([DONE, 'submit_outcome_is_final']).toContain(outcome);
        if (outcome === DONE) moves.push(`${from} ${to}`);
      }
    }
    expect(moves).toEqual([
      'null IN_DOUBT',
      'null REFUSED',
      'null EXECUTED',
      'null PROVEN_UNSENT',
      'IN_DOUBT REFUSED',
      'IN_DOUBT EXECUTED',
      'IN_DOUBT PROVEN_UNSENT',
      'REFUSED EXECUTED',
    ]);
  });
});
