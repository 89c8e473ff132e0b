import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { execute, isLockAwaited, select } from '../support/database';
import { Mixed } from '../support/mixed-payrolls';
import { Payroll } from '../support/payroll';
import { firstOf, instructions, mixedTemplate, PayrollsCopy } from './payrolls-copy';

describe('what the standing reconciler tells beside what lasts', () => {
  let payroll: Payroll;
  let template: string;
  let employerId: string;
  let runs: Record<keyof Mixed, string>;
  let copy: PayrollsCopy;
  beforeAll(async () => {
    ({ payroll, template, employerId, runs } = await mixedTemplate());
    await execute(payroll.database.superuserUrl, 'DELETE FROM reconciler_pass');
  });
  afterAll(() => payroll?.close());
  beforeEach(async () => {
    copy = await PayrollsCopy.of(template, employerId);
  });
  afterEach(() => copy.close());

  const told = async (name: string) => (await copy.check()).filter((one) => one === name).length;

  it.each([
    ['approved-as-it-stands', `root_hash = sha256('x')`],
    ['conservation', 'row_count = row_count + 1'],
    ['approved-root-is-whole', `root_hash = sha256('x')`],
  ])('is what of %s came after twenty others, and each of those once', async (name, change) => {
    // Older by their ids than whatever breaks after them.
    await copy.tamper(
      `INSERT INTO pay_run SELECT (jsonb_populate_record(r, jsonb_build_object('sequence', 100 + n, 'parent_run_id', r.id, 'id',
         '00000000-0000-7000-8000-' || lpad(n::text, 12, '0')))).*
       FROM pay_run r, generate_series(1, 25) AS n WHERE id = '${runs.approved}'`,
    );
    const passes = [await told(name), await told(name), await told(name)];
    expect(passes).toEqual([20, 5, 0]);
    await copy.tamper(`UPDATE pay_run SET ${change} WHERE id = '${runs.settled}'`);
    expect([await told(name), await told(name)]).toEqual([1, 0]);
    await copy.tamper(
      `UPDATE pay_run SET status = 'CANCELLED', row_count = 0, total_minor = 0 WHERE id::text LIKE '00000000-%'`,
    );
    expect(await told(name)).toBe(0);
    const lasting = await select<{ pay_run_id: string }>(
      copy.store.superuserUrl,
      `SELECT pay_run_id FROM invariant_breach WHERE invariant = '${name}' AND gone_at IS NULL`,
    );
    expect(lasting).toEqual([{ pay_run_id: runs.settled }]);
  });

  const fail = (rows: number) =>
    `UPDATE payment SET status = 'FAILED', live = false WHERE pay_run_id = '${runs.settled}' AND row_no <= ${rows}`;
  const asked = async (name: string) => {
    const ofIt = (await copy.attentions()).filter(({ happened }) => happened.includes(` ${name} broken`));
    return ofIt.map(({ id, happened }) => [id, /\((\d+) found/.exec(happened)?.[1]] as const);
  };

  it('is that a breach is twice what people were told of, once they have resumed what they were asked', async () => {
    const name = 'ended-payments-stay';
    await copy.tamper(fail(1));
    expect(await told(name)).toBe(1);
    const first = await asked(name);
    expect(first.map(([, found]) => found)).toEqual(['1']);
    await copy.tamper(fail(3));
    expect([await told(name), await told(name), await asked(name)]).toEqual([0, 0, first]);
    expect(await copy.stopped()).toContain('everything');
    await copy.resume();
    expect(await told(name)).toBe(1);
    expect((await asked(name)).map(([, found]) => found)).toEqual(['3']);
    expect(await copy.stopped()).toContain('everything');
    await copy.resume();
    await copy.tamper(fail(5));
    expect([await told(name), await asked(name)]).toEqual([0, []]);
    expect(await copy.stopped()).not.toContain('everything');
    await copy.tamper(fail(6));
    expect([await told(name), await told(name)]).toEqual([1, 0]);
    await copy.resume();
    await copy.tamper(fail(6).replace("'FAILED', live = false", "'SETTLED', live = true"));
    expect(await told(name)).toBe(0);
    await copy.tamper(fail(1));
    expect(await told(name)).toBe(1);
  });

  it('is told while two people resume what it grew from, and neither waits for the other', async () => {
    await copy.tamper(fail(1));
    await copy.check();
    await copy.tamper(fail(3));
    const desk = new Client({ connectionString: copy.store.superuserUrl });
    await desk.connect();
    try {
      await desk.query('BEGIN');
      await desk.query('SELECT FROM service_switch FOR UPDATE');
      let isOver = false;
      const checking = copy.check().finally(() => (isOver = true));
      while (!isOver && !(await isLockAwaited(copy.store.superuserUrl))) await sleep(20);
      await desk.query(
        `UPDATE attention SET resolved_at = now(), resolution = 'seen' WHERE resolved_at IS NULL`,
      );
      await desk.query('COMMIT');
      const both = [...(await checking), ...(await copy.check())];
      expect(both.filter((one) => one === 'ended-payments-stay')).toHaveLength(1);
    } finally {
      await desk.end();
    }
  });

  it.each([
    [
      'submits-have-intents',
      'another call of a submit',
      (n: number) =>
        `INSERT INTO bank_call SELECT (jsonb_populate_record(c, jsonb_build_object('id', gen_random_uuid()))).*
         FROM bank_call c, generate_series(1, ${n}) WHERE c.id = (SELECT id FROM bank_call
           WHERE operation = 'submit' AND instruction_id = ${firstOf(runs.settled)} ORDER BY id LIMIT 1)`,
    ],
    ['conservation', 'more of a run', (n: number) => `UPDATE pay_file SET row_count = row_count + ${n} * 5`],
  ])('is of %s %s, where people resumed one', async (name, _what, once) => {
    await copy.tamper(once(1));
    expect(await told(name)).toBeGreaterThan(0);
    await copy.resume();
    expect(await told(name)).toBe(0);
    await copy.tamper(once(1));
    expect(await told(name)).toBeGreaterThan(0);
  });

  it('is no instruction that was sent and is not due, since that is woken', async () => {
    await copy.tamper(`DELETE FROM lease WHERE subject_id IN ${instructions(runs.unknown)}`);
    expect([await told('never-stuck'), await told('never-stuck')]).toEqual([1, 0]);
    const lasting = await select(
      copy.store.superuserUrl,
      `SELECT FROM invariant_breach WHERE invariant = 'never-stuck' AND gone_at IS NULL`,
    );
    expect(lasting).toEqual([]);
  });

  it('is no parked submit of which the question was closed, since people are asked about it again', async () => {
    const { unknown } = runs;
    await copy.tamper(
      `UPDATE attention SET resolved_at = now(), resolution = 'seen' WHERE pay_run_id = '${unknown}'`,
    );
    expect([await told('never-stuck'), await told('never-stuck')]).toEqual([1, 0]);
    const open = await select<{ kind: string }>(
      copy.store.superuserUrl,
      `SELECT kind, subject_id = ${firstOf(unknown)} AS "isOfIt", payments, amount_minor > 0 AS "hasSum", ask_bank LIKE '%customer instruction ' ||
         (SELECT bank_instruction_id FROM instruction WHERE id = ${firstOf(unknown)}) || '%' AS "namesIt"
       FROM attention WHERE resolved_at IS NULL AND kind <> 'INVARIANT_BREACH' AND pay_run_id = '${unknown}'`,
    );
    expect(open).toEqual([
      { kind: 'SUBMIT_UNKNOWN', isOfIt: true, payments: 3, hasSum: true, namesIt: true },
    ]);
  });

  it('is a row that was changed, made right and changed again', async () => {
    const change = (iban: string) =>
      `UPDATE payment SET iban_sealed = ${iban} WHERE pay_run_id = '${runs.settled}' AND row_no = 2`;
    const [row] = await select<{ iban_sealed: string }>(
      copy.store.superuserUrl,
      `SELECT iban_sealed FROM payment WHERE pay_run_id = '${runs.settled}' AND row_no = 2`,
    );
    await copy.tamper(change(`'0:DE89370400440532013000'`));
    expect(await copy.check()).toEqual(['rows-as-approved']);
    expect(await copy.check()).toEqual([]);
    await copy.resume();
    await copy.tamper(change(`'${row!.iban_sealed}'`));
    expect(await copy.check()).toEqual([]);
    await copy.tamper(change(`'0:DE89370400440532013000'`));
    expect(await copy.check()).toEqual(['rows-as-approved']);
    expect(await copy.stopped()).toEqual([employerId]);
  });

  it('is each entry of the audit chain that was changed or taken out, beside one that was before', async () => {
    const change = (seq: number) =>
      `UPDATE audit_entry SET subject = subject || 'x' WHERE chain_id = '${employerId}' AND seq = ${seq}`;
    const where = async () =>
      (await copy.attentions()).map(({ happened }) => /at entry \d+/.exec(happened)?.[0]).sort();
    await copy.tamper(change(5));
    expect(await copy.check()).toEqual(['audit-chain']);
    expect(await copy.check()).toEqual([]);
    await copy.resume();
    await copy.tamper(
      change(3),
      change(8),
      `DELETE FROM audit_entry WHERE chain_id = '${employerId}' AND seq = 9`,
    );
    expect(await copy.check()).toEqual(['audit-chain', 'audit-chain']);
    expect(await where()).toEqual(['at entry 3', 'at entry 8']);
    expect(await copy.stopped()).toEqual([employerId]);
    await copy.resume();
    await copy.tamper(
      `UPDATE audit_entry SET subject = left(subject, -1) WHERE chain_id = '${employerId}' AND seq = 3`,
      `DELETE FROM audit_entry WHERE chain_id = '${employerId}' AND seq IN (10, 11)`,
    );
    expect(await copy.check()).toEqual(['audit-chain']);
    expect(await where()).toEqual(['at entry 8']);
    await copy.tamper(change(3));
    expect(await copy.check()).toEqual(['audit-chain']);
  });

  it('is no entry that was put in beyond the head of the audit chain and stays, while the chain grows', async () => {
    await copy.tamper(
      `INSERT INTO audit_entry SELECT chain_id, 100000, at, person_id, action, subject, detail, previous_hash, entry_hash
       FROM audit_entry WHERE chain_id = '${employerId}' AND seq = 1`,
    );
    expect(await copy.check()).toEqual(['audit-chain']);
    await copy.append();
    expect(await copy.check()).toEqual([]);
  });
});
