import { BankUnreachable, NotAllowed } from '../../src/bank/errors';
import { Claim, Fenced, Leases, wake } from '../../src/database/leases';
import { instructionOfRun } from '../../src/pay-run/instruction.store';
import { GivenUpLook } from '../../src/submission/given-up-look';
import type { InstructionReader, SubmittedBefore } from '../../src/submission/read-back';
import type { PayableRow, Work } from '../../src/submission/work';
import { idsOf, insertion, RESTORE, Row, secondRows } from '../database/two-employers';
import { NothingAsked, nothingAsked } from '../pay-run/nothing-asked';
import { connected, execute, isWaitedFor, select } from '../support/database';
import { eventually } from '../support/eventually';

const ours = idsOf(1);
const [FURTHER, OTHERS] = ours.fresh;
const CLEAR: SubmittedBefore = { isUnclear: false };
const MOVED: SubmittedBefore = { moved: 'EXCHANGED', isUnclear: false };

describe('what was given up, before something is submitted in its place', () => {
  let office: NothingAsked;
  let claim: Claim;
  let work: Work;
  let read: string[];
  /** Of the first instruction the rows are submitted; of its earlier attempts one is known to have moved. */
  beforeEach(async () => {
    office = await nothingAsked();
    read = [];
    await office.database.inEmployer(ours.employer, async (tx) =>
      wake(tx, 'INSTRUCTION', [ours.instruction[0]]),
    );
    claim = (await new Leases(office.database).claim('INSTRUCTION', 'first', 1, 60_000))[0]!;
    work = (await office.database.inEmployer(ours.employer, (tx) =>
      instructionOfRun(tx, ours.instruction[0]),
    ))!;
  });
  afterEach(() => office.close());

  const row = (rowNo: number, paymentId: string) => ({ rowNo, paymentId }) as PayableRow;
  const OWN = row(1, ours.payment);
  /** Whether it stands, at a bank that shows so of it. */
  const stands = (
    shows: SubmittedBefore | Error | (() => Promise<SubmittedBefore>) = CLEAR,
    ...rows: PayableRow[]
  ) => {
    const submittedBefore = ({ instruction }: Work) => {
      read.push(instruction.id);
      if (shows instanceof Error) return Promise.reject(shows);
      return typeof shows === 'function' ? shows() : Promise.resolve(shows);
    };
    const look = new GivenUpLook(office.database, { submittedBefore } as unknown as InstructionReader);
    return look.stand(claim, work, rows.length === 0 ? [OWN] : rows);
  };
  const as = (...statements: string[]) =>
    execute(office.server.superuserUrl, ['SET session_replication_role = replica', ...statements].join('; '));
  const told = () =>
    select(
      office.server.superuserUrl,
      `SELECT kind, subject_id AS subject FROM attention WHERE resolved_at IS NULL`,
    );
  const remembered = () =>
    select(
      office.server.superuserUrl,
      `SELECT bank_status AS status FROM moved_instruction WHERE instruction_id = '${ours.unmoved}'`,
    );
  const isStopped = async () =>
    (await select(office.server.superuserUrl, 'SELECT FROM service_switch WHERE submits_off')).length > 0;

  it('stands where it is not past its submit, is hidden for good, or is known to have moved', async () => {
    expect(await stands()).toBe(true);
    expect(read).toEqual([ours.unmoved]);
    expect(await stands(new NotAllowed(403, { raw: '' }))).toBe(true);
    expect(await stands({ isUnclear: true, unknown: 'BOOKED_OUT' })).toBe(true);
    expect([await told(), await remembered(), await isStopped()]).toEqual([[], [], false]);
  });

  it('does not stand, and stops everything, where it has moved, once', async () => {
    expect(await stands(MOVED)).toBe(false);
    expect(await told()).toContainEqual({ kind: 'INVARIANT_BREACH', subject: ours.unmoved });
    expect([await remembered(), await isStopped()]).toEqual([[{ status: 'EXCHANGED' }], true]);
    // People are told, and decide.
    expect(await stands(MOVED)).toBe(true);
  });

  it('does not stand, and stops nothing, where two people said on the word of the bank that it was executed', async () => {
    await as(
      `DELETE FROM submit_attempt WHERE id = '${ours.attempt}'`,
      `INSERT INTO forgotten_instruction (employer_id, bank_instruction_id, restore_id, pay_run_id, bank_status, action_id)
       SELECT employer_id, bank_instruction_id, '${RESTORE}', pay_run_id, 'BOOKED_OUT', '${ours.action}'
       FROM instruction WHERE id = '${ours.unmoved}'`,
    );
    expect(await stands(MOVED)).toBe(false);
    expect([await remembered(), await isStopped()]).toEqual([[{ status: 'EXCHANGED' }], false]);
  });

  it('does not stand while the bank cannot be read', async () => {
    const silent = new BankUnreachable('ECONNRESET', true);
    await expect(stands(silent)).rejects.toBe(silent);
  });

  it('is told by nobody whose lease is another’s by then', async () => {
    const taken = async () => {
      await as(
        `UPDATE lease SET epoch = epoch + 1, holder = 'second' WHERE subject_id = '${claim.subjectId}'`,
      );
      return MOVED;
    };
    await expect(stands(taken)).rejects.toBeInstanceOf(Fenced);
    expect([await told(), await remembered(), await isStopped()]).toEqual([[], [], false]);
  });

  it.each([
    ['its own', ours.run, [ours.spareRun]],
    ['another', ours.spareRun, []],
  ])(
    'waits for the turns of all open runs in one order before everything stops: %s',
    async (_which, taken, free) => {
      await connected(office.server.superuserUrl, async (submitter) => {
        await submitter.query(`BEGIN; SELECT FROM pay_run WHERE id = '${taken}' FOR SHARE`);
        const underWay = stands(MOVED);
        await eventually(() => isWaitedFor(submitter), 5_000);
        for (const run of free)
          await submitter.query(`SELECT FROM pay_run WHERE id = '${run}' FOR SHARE NOWAIT`);
        await submitter.query('SELECT FROM service_switch FOR SHARE NOWAIT');
        await submitter.query('COMMIT');
        expect(await underWay).toBe(false);
      });
    },
  );

  it.each([
    [1, true],
    [2, true],
    [3, true],
    [4, false],
  ])('is looked at by the rows that it held: row %d of 1 to 3 (%p)', async (rowNo, isLookedAt) => {
    await as(
      `UPDATE planned_instruction SET first_row = 1, last_row = 3, row_count = 3 WHERE id = '${ours.planned[0]}'`,
    );
    await stands(CLEAR, row(rowNo, ours.payment));
    expect(read).toEqual(isLookedAt ? [ours.unmoved] : []);
    read = [];
    await as(`UPDATE planned_instruction SET first_row = 2, last_row = 3 WHERE id = '${ours.planned[0]}'`);
    await stands(CLEAR, row(rowNo, ours.payment));
    expect(read).toEqual(isLookedAt && rowNo > 1 ? [ours.unmoved] : []);
  });

  it('is not what stands, nor what never was at the bank', async () => {
    await as(
      `UPDATE instruction SET status = 'ABANDONED' WHERE id = '${ours.instruction[0]}'`,
      `UPDATE instruction SET status = 'VERIFIED' WHERE id = '${ours.unmoved}'`,
    );
    await stands();
    expect(read).toEqual([ours.instruction[0]]);
    await as(`UPDATE instruction SET bank_instruction_id = NULL WHERE id = '${ours.instruction[0]}'`);
    await stands();
    expect(read).toHaveLength(1);
  });

  describe('by another run', () => {
    const { planned_instruction: planned, payment } = secondRows(1);
    const ended: Row = {
      ...payment,
      pay_run_id: ours.spareRun,
      id: OTHERS,
      row_no: 4,
      employee_id: 'E1',
      status: 'CANCELLED',
      live: false,
      replaces_payment_id: null,
    };
    /** What it gave up held a payment that ended, of the same employee unless it is changed. */
    const beside = (change: Row = {}) =>
      as(
        insertion('planned_instruction', { ...planned, id: FURTHER, pay_run_id: ours.spareRun }),
        insertion('payment', { ...ended, ...change }),
        `UPDATE instruction SET pay_run_id = '${ours.spareRun}', planned_instruction_id = '${FURTHER}' WHERE id = '${ours.unmoved}'`,
      );

    it('is looked at where it was to pay the same', async () => {
      await beside();
      expect(await stands(MOVED)).toBe(false);
      expect(read).toEqual([ours.unmoved]);
      expect(await told()).toContainEqual({ kind: 'INVARIANT_BREACH', subject: ours.unmoved });
    });

    it.each<[string, Row]>([
      ['another employee', { employee_id: 'E2' }],
      ['for another month', { period: '2026-10' }],
      ['another kind of pay', { kind_of_pay: 'BONUS' }],
      ['by another row than it gave up', { row_no: 5 }],
      ['by what is not over', { live: true, status: 'AT_BANK', release_sequence: 1 }],
    ])('is not looked at where it was to pay %s', async (_what, change) => {
      await beside(change);
      expect(await stands(MOVED)).toBe(true);
      expect(read).toEqual([]);
    });

    it('is not looked at by the row of the same number', async () => {
      await beside({ row_no: 5 });
      expect(await stands(MOVED, row(4, ours.payment))).toBe(true);
      expect(read).toEqual([]);
    });
  });
});
