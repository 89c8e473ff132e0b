import { readById } from '../../src/database/by-id';
import type { Database } from '../../src/database/database';
import { showId } from '../../src/http/prefixed-id';
import { Instruction } from '../../src/pay-run/instruction.entity';
import { PayRun } from '../../src/pay-run/pay-run.entity';
import { accessRefused, forbiddenBefore, hiddenFromUs } from '../../src/pay-run/refused-access';
import { firstRows, hashOf, idsOf, insertion, uuid } from '../database/two-employers';
import { execute, select, TestDatabase } from '../support/database';
import { NothingAsked, nothingAsked } from './nothing-asked';

const ours = idsOf(1);
const { employer_account: account, pay_run: run, instruction, bank_payment: bankPayment } = firstRows(1);
const OTHER_ACCOUNT = uuid(1_100);
const REFUSED = 'The bank answered 403';
const NO_READ = 'no read was found: probe it again';

/** Runs with one submitted instruction each; the last on an account of its own. */
const [A, B, C] = [1, 2, 3].map((n) => ({ run: uuid(1_100 + n), instruction: uuid(1_110 + n) })) as [
  Hidden,
  Hidden,
  Hidden,
];
interface Hidden {
  run: string;
  instruction: string;
}

let office: NothingAsked;
let server: TestDatabase;
let database: Database;
beforeEach(async () => {
  office = await nothingAsked();
  ({ server, database } = office);
  const rows = [A, B, C].flatMap((one, n) => [
    insertion('pay_run', {
      ...run,
      id: one.run,
      account_id: one === C ? OTHER_ACCOUNT : ours.account,
      schedule_id: null,
      sequence: 7 + n,
      parent_run_id: ours.run,
      status: 'FOLLOWING',
    }),
    insertion('instruction', {
      ...instruction,
      id: one.instruction,
      pay_run_id: one.run,
      planned_instruction_id: uuid(1_120 + n),
      status: 'SUBMITTED',
      bank_instruction_id: `hidden-${n}`,
    }),
  ]);
  await changed(
    insertion('employer_account', {
      ...account,
      id: OTHER_ACCOUNT,
      bank_account_id: 'other-account',
      iban_hash: hashOf(7),
    }),
    ...rows,
  );
});
afterEach(() => office.close());

/** As it may have come to be. */
const changed = (...statements: string[]) =>
  execute(server.superuserUrl, ['SET session_replication_role = replica', ...statements].join(';\n'));

const hide = (one: Hidden, refusal = REFUSED) =>
  database.inEmployer(ours.employer, async (tx) =>
    hiddenFromUs(
      tx,
      await readById(tx, PayRun, one.run),
      await readById(tx, Instruction, one.instruction),
      refusal,
    ),
  );
const refuse = (runId: string, happened: string, instructionId?: string) =>
  database.inEmployer(ours.employer, async (tx) =>
    accessRefused(
      tx,
      await readById(tx, PayRun, runId),
      instructionId === undefined ? undefined : await readById(tx, Instruction, instructionId),
      happened,
    ),
  );
const forbid = (one: Hidden, payments?: string[]) =>
  database.inEmployer(ours.employer, async (tx) =>
    accessRefused(
      tx,
      await readById(tx, PayRun, one.run),
      await readById(tx, Instruction, one.instruction),
      'forbidden',
      payments,
    ),
  );
const asked = () =>
  select<{ happened: string; certain: string; ask_bank: string; payments: number; amount_minor: string }>(
    server.superuserUrl,
    `SELECT happened, certain, ask_bank, payments, amount_minor FROM attention WHERE kind = 'CREDENTIALS' AND resolved_at IS NULL`,
  );
const timesTold = async () =>
  (
    await select(
      server.superuserUrl,
      `SELECT FROM attention WHERE kind = 'CREDENTIALS' AND resolution IS DISTINCT FROM 'before the test'`,
    )
  ).length;
const resume = async () => {
  await office.resume();
  await changed('UPDATE employer SET stopped_at = NULL, stopped_reason = NULL');
};
const isStopped = async () =>
  (await select(server.superuserUrl, 'SELECT FROM employer WHERE stopped_at IS NOT NULL')).length > 0;
const hidden = (refusal: string, ...runs: Hidden[]) =>
  `The bank refuses to show what became of submitted payments of ${runs.map((one) => showId('run', one.run)).join(', ')}: ${refusal}.`;

describe('what the bank hides of several runs', () => {
  it('is told with the refusal of each, and one word lets all go on', async () => {
    await hide(A, NO_READ);
    await hide(B);
    await hide(C);
    const [told] = await asked();
    expect(told).toMatchObject({
      happened: `${hidden(NO_READ, A)} ${hidden(REFUSED, B, C)}`,
      ask_bank: expect.stringContaining('account-1, other-account'),
      payments: 9,
      amount_minor: '900',
    });
    await resume();
    await hide(A, NO_READ);
    await hide(B);
    await hide(C);
    expect(await asked()).toEqual([]);
    expect(await isStopped()).toBe(false);
  });

  it('is asked of once more where one is refused in another way, though that was decided of others', async () => {
    await hide(A, NO_READ);
    await hide(B);
    await resume();
    await hide(A);
    expect(await asked()).toMatchObject([{ happened: hidden(REFUSED, A), payments: 3 }]);
    expect(await isStopped()).toBe(true);
  });

  it('is told of each as it is refused now', async () => {
    await hide(A, NO_READ);
    await hide(A);
    await hide(B);
    expect(await asked()).toMatchObject([{ happened: hidden(REFUSED, A, B), payments: 6 }]);
  });

  it('is told anew without those that have ended since', async () => {
    await hide(A);
    await hide(B);
    await changed(
      `UPDATE instruction SET status = 'CLOSED', outcome = 'SETTLED' WHERE id = '${A.instruction}'`,
    );
    await hide(C);
    expect(await asked()).toMatchObject([{ happened: hidden(REFUSED, B, C), payments: 6 }]);
  });

  it('is filed under the run that was asked about first also where that is refused in another way', async () => {
    await hide(A);
    await hide(B);
    await hide(A, NO_READ);
    const filed = `SELECT pay_run_id AS run FROM attention WHERE kind = 'CREDENTIALS' AND resolved_at IS NULL`;
    expect(await select(server.superuserUrl, filed)).toEqual([{ run: A.run }]);
  });

  it('is decided, and told once, also where it was asked before refusals were kept', async () => {
    const forgotten = 'UPDATE attention SET refusals = NULL WHERE resolved_at IS NULL';
    await hide(A);
    await changed(forgotten);
    await hide(A);
    expect(await asked()).toMatchObject([{ happened: hidden(REFUSED, A), payments: 3 }]);
    await changed(forgotten);
    await resume();
    await hide(A);
    expect(await isStopped()).toBe(false);
    await hide(B);
    expect(await isStopped()).toBe(true);
  });

  it('counts what is hidden of a run that is being submitted also as it is told with others', async () => {
    const inMidRun = { run: ours.run, instruction: ours.instruction[0] };
    await changed(`UPDATE instruction SET status = 'SUBMITTED' WHERE id = '${inMidRun.instruction}'`);
    await hide(inMidRun);
    const [alone] = await asked();
    await hide(B);
    expect(await asked()).toMatchObject([{ payments: alone!.payments + 3 }]);
  });
});

describe('a run whose access is refused before its submit', () => {
  const before = 'The bank refused our access before the submit: The bank answered 403.';
  beforeEach(() => changed(`UPDATE pay_run SET status = 'VERIFIED' WHERE id = '${ours.spareRun}'`));

  it('stays in the question, by its name, where the bank hides another', async () => {
    await refuse(ours.spareRun, before);
    expect(await asked()).toMatchObject([{ happened: before, payments: 3 }]);
    await hide(C);
    await hide(C);
    expect(await asked()).toMatchObject([
      {
        happened: `Of ${showId('run', ours.spareRun)}: ${before} ${hidden(REFUSED, C)}`,
        ask_bank: expect.stringContaining('account-1, other-account'),
        payments: 6,
        amount_minor: '600',
      },
    ]);
  });

  it('stays in it also where it was asked before refusals were kept', async () => {
    await refuse(ours.spareRun, before);
    await changed(`UPDATE attention SET refusals = NULL WHERE resolved_at IS NULL`);
    await hide(C);
    expect(await asked()).toMatchObject([{ payments: 6 }]);
  });

  it('joins the question that is open about another, once, and both are told by their names', async () => {
    await changed(`UPDATE pay_run SET status = 'BUILDING' WHERE id = '${A.run}'`);
    await refuse(ours.spareRun, before);
    const building = 'The bank refused our access while building: The bank answered 403.';
    for (const words of [building, before, building]) await refuse(A.run, words);
    await refuse(ours.spareRun, before);
    expect(await asked()).toMatchObject([
      {
        happened: `Of ${showId('run', ours.spareRun)}: ${before} Of ${showId('run', A.run)}: ${building}`,
        payments: 6,
      },
    ]);
  });

  it('joins what is hidden of another', async () => {
    await hide(C);
    await refuse(ours.spareRun, before);
    expect(await asked()).toMatchObject([
      { happened: `${hidden(REFUSED, C)} Of ${showId('run', ours.spareRun)}: ${before}`, payments: 6 },
    ]);
  });

  const notShown = 'The bank refused to show what became of submitted payments: The bank answered 401.';

  it('is told anew, once, of runs that have nothing left to send and are refused alike', async () => {
    await refuse(ours.spareRun, before);
    for (const one of [C, A, C]) await refuse(one.run, notShown);
    expect(await asked()).toMatchObject([
      {
        happened: `Of ${showId('run', ours.spareRun)}: ${before} Of ${showId('run', C.run)}: ${notShown}`,
        payments: 6,
      },
    ]);
  });

  it('stays beside what is hidden of another where it kept a run from being followed, until that is over', async () => {
    await refuse(A.run, notShown);
    await hide(C);
    expect((await asked())[0]).toMatchObject({ happened: expect.stringContaining('401'), payments: 6 });
    await changed(`UPDATE pay_run SET status = 'SETTLED' WHERE id = '${A.run}'`);
    await hide(B);
    expect((await asked())[0]?.happened).not.toContain('401');
  });

  it('is told once of each of several runs that are over, and stays while they are refused otherwise than each other', async () => {
    await changed(`UPDATE pay_run SET status = 'SETTLED' WHERE id IN ('${A.run}', '${C.run}')`);
    for (let times = 0; times < 3; times++) {
      await refuse(A.run, notShown);
      await refuse(C.run, 'The bank refused to show what became of submitted payments: no token.');
    }
    expect(await timesTold()).toBe(2);
    expect((await asked())[0]?.happened).toMatch(/401.* no token/);
  });

  it('is told once more of a run that is over by now, and no oftener', async () => {
    await refuse(A.run, notShown);
    await changed(`UPDATE pay_run SET status = 'SETTLED' WHERE id = '${A.run}'`);
    for (const hiding of [B, C, B]) {
      await hide(hiding);
      await refuse(A.run, notShown);
    }
    expect(await timesTold()).toBe(4);
    expect((await asked())[0]?.happened).toContain('401');
  });

  it('stays where it was of a submit, while that is not declared', async () => {
    await changed(`UPDATE pay_run SET status = 'SUBMITTING' WHERE id = '${A.run}'`);
    await refuse(A.run, before, A.instruction);
    await changed(
      `UPDATE pay_run SET status = 'FOLLOWING' WHERE id = '${A.run}'`,
      `UPDATE instruction SET status = 'SUBMIT_REFUSED' WHERE id = '${A.instruction}'`,
    );
    await hide(C);
    expect((await asked())[0]?.happened).toContain(before);
    await changed(`UPDATE instruction SET status = 'VOID' WHERE id = '${A.instruction}'`);
    await hide(B);
    expect((await asked())[0]?.happened).not.toContain(before);
  });

  it.each(['READY', 'CANCELLED', 'FOLLOWING'])('leaves it once that is %s', async (status) => {
    await refuse(ours.spareRun, before);
    await changed(`UPDATE pay_run SET status = '${status}' WHERE id = '${ours.spareRun}'`);
    await hide(C);
    expect(await asked()).toMatchObject([{ happened: hidden(REFUSED, C), payments: 3 }]);
  });
});

describe('adds of a run that are forbidden', () => {
  const outright = 'The bank refused our access while building: The bank answered 401.';
  const adding = 'May our access token add payments to instructions of account account-1';
  const valid = 'Is our access token valid, with the scopes of the interface, for account account-1?';
  beforeEach(() => changed(`UPDATE pay_run SET status = 'BUILDING' WHERE id IN ('${A.run}', '${B.run}')`));

  it('are told of as such, since it may be that our access is whole', async () => {
    await forbid(A, [uuid(1_140)]);
    const [told] = await asked();
    expect(told!.certain).toMatch('Whether it refuses our access or these payments is not known');
    expect(told!.ask_bank).toBe(
      `${adding}? If it may, why are payments forbidden in customer instruction hidden-0?`,
    );
  });

  it('are a question that a refusal of our access joins, once, and the other way about', async () => {
    for (let times = 0; times < 2; times++) {
      await forbid(A, [uuid(1_140)]);
      await refuse(A.run, outright, A.instruction);
    }
    expect(await timesTold()).toBe(2);
    expect((await asked())[0]?.happened).toContain(outright);
    await resume();
    for (let times = 0; times < 2; times++) {
      await refuse(A.run, outright, A.instruction);
      await forbid(A, [uuid(1_140)]);
    }
    expect(await timesTold()).toBe(4);
    expect((await asked())[0]?.happened).toContain('forbidden');
  });

  it('are told beside another refusal with what is certain and to be asked of both', async () => {
    await forbid(A, [uuid(1_140)]);
    await refuse(B.run, outright, B.instruction);
    const [told] = await asked();
    expect(told!.certain).toMatch(
      /^The bank refuses our access; whether it forbids payments for that, or by themselves, is not known/,
    );
    expect(told!.ask_bank).toMatch(valid);
    expect(told!.ask_bank).toMatch(adding);
  });
});

describe('payments that were forbidden when people let the employer go on', () => {
  const EARLIER = uuid(1_130);
  const LATER = uuid(1_131);
  const FORBIDDEN = [1, 2, 3].map((n) => uuid(1_140 + n));
  const OTHER = uuid(1_150);

  beforeEach(() =>
    changed(
      ...[EARLIER, LATER].map((id, n) =>
        insertion('instruction', {
          ...instruction,
          id,
          pay_run_id: A.run,
          planned_instruction_id: uuid(1_132 + n),
          status: 'ABANDONED',
          bank_instruction_id: `attempt-${n}`,
        }),
      ),
      `UPDATE instruction SET created_at = clock_timestamp() - interval '1 hour' WHERE id = '${EARLIER}'`,
      `UPDATE instruction SET created_at = clock_timestamp() + interval '1 hour' WHERE id = '${LATER}'`,
    ),
  );

  const took = (instructionId: string, payment: string) =>
    changed(
      insertion('bank_payment', {
        ...bankPayment,
        instruction_id: instructionId,
        row_no: 90 + FORBIDDEN.indexOf(payment),
        payment_id: payment,
        bank_payment_id: `taken-${instructionId}-${payment}`,
        bank_transaction_id: null,
      }),
    );
  const refusedEach = (instructionId: string) =>
    changed(
      ...FORBIDDEN.map((payment, n) =>
        insertion('bank_payment', {
          ...bankPayment,
          instruction_id: instructionId,
          row_no: 90 + n,
          payment_id: payment,
          bank_payment_id: null,
          bank_transaction_id: null,
          add_outcome: 'REFUSED',
        }),
      ),
    );
  const before = (one: Hidden, open = [...FORBIDDEN, OTHER]) =>
    database.inEmployer(ours.employer, (tx) =>
      forbiddenBefore(tx, { id: one.instruction, payRunId: one.run }, open),
    );
  const resumed = async (one: Hidden) => [...(await before(one)).resumed].sort();

  it('are remembered of their run, and of no other', async () => {
    await forbid(A, FORBIDDEN);
    expect(await resumed(A)).toEqual([]);
    await resume();
    expect(await resumed(A)).toEqual(FORBIDDEN);
    expect(await resumed(B)).toEqual([]);
  });

  it('are none where people were asked about another refusal of our access', async () => {
    await forbid(A);
    await resume();
    expect(await resumed(A)).toEqual([]);
  });

  it('are remembered until one of them is taken, be it into a later attempt', async () => {
    await forbid(A, FORBIDDEN);
    await resume();
    await took(EARLIER, FORBIDDEN[0]!);
    await took(LATER, OTHER);
    expect(await resumed(A)).toEqual(FORBIDDEN);
    expect((await before(A)).tookElsewhere).toEqual(new Set([FORBIDDEN[0], OTHER]));
    await changed(`DELETE FROM bank_payment WHERE instruction_id = '${LATER}'`);
    await took(LATER, FORBIDDEN[1]!);
    expect(await resumed(A)).toEqual([]);
  });

  it('stay what they are where each was asked about and another of them is taken, until they are', async () => {
    await forbid(A, FORBIDDEN);
    await resume();
    await took(LATER, FORBIDDEN[0]!);
    expect((await before(A)).askedEach).toEqual(new Set());
    await refusedEach(A.instruction);
    expect((await before(A)).askedEach).toEqual(new Set(FORBIDDEN.slice(1)));
    expect(await resumed(A)).toEqual([]);
  });

  it('stay what they are also where they were taken before each was asked about', async () => {
    await forbid({ run: A.run, instruction: EARLIER }, FORBIDDEN);
    await resume();
    for (const payment of FORBIDDEN) await took(EARLIER, payment);
    await forbid(A, FORBIDDEN);
    await resume();
    await refusedEach(A.instruction);
    expect((await before(A)).askedEach).toEqual(new Set(FORBIDDEN));
    await took(LATER, FORBIDDEN[0]!);
    expect((await before(A)).askedEach).toEqual(new Set(FORBIDDEN.slice(1)));
  });
});
