import { tellWhereReleasedSince } from '../../src/pay-run/moved-instruction';
import { PayRun } from '../../src/pay-run/pay-run.entity';
import { assignments, firstRows, idsOf, insertion, RESTORE, Row } from '../database/two-employers';
import { execute, select } from '../support/database';
import { NothingAsked, nothingAsked } from './nothing-asked';

const ours = idsOf(1);
const [FURTHER] = ours.fresh;
const [BEFORE, FOUND, AFTER] = ['2026-11-20T07:00:00Z', '2026-11-20T08:00:00Z', '2026-11-20T09:00:00Z'];
const { payment, pay_hold: hold } = firstRows(1);

describe('what a restore found in a status that no document names, and is asked about still', () => {
  let office: NothingAsked;
  beforeEach(async () => {
    office = await nothingAsked();
  });
  afterEach(() => office.close());

  interface Since {
    made?: string;
    released?: Row;
    found?: Row;
    further?: Row;
  }

  /** What people are told where another run, made after it was found, pays its employee once more, unless that is changed. */
  async function told({ made = AFTER, released, found, further }: Since = {}): Promise<unknown[]> {
    const { superuserUrl } = office.server;
    const inRun = { pay_run_id: ours.spareRun, row_no: 1 };
    const once = { ...payment, ...inRun, id: FURTHER, status: 'READY', release_sequence: 1, ...further };
    const forgotten = {
      employer_id: ours.employer,
      bank_instruction_id: 'found',
      restore_id: RESTORE,
      pay_run_id: ours.run,
      bank_status: 'BOOKED_OUT',
      found_at: FOUND,
      ...found,
    };
    await execute(
      superuserUrl,
      [
        'SET session_replication_role = replica',
        insertion('forgotten_instruction', forgotten),
        `UPDATE pay_run SET ${assignments({ created_at: made })} WHERE id = '${ours.spareRun}'`,
        insertion('payment', once),
        ...(released ? [insertion('pay_hold', { ...hold, ...inRun, payment_id: FURTHER, ...released })] : []),
      ].join('; '),
    );
    await office.database.inEmployer(ours.employer, async (tx) =>
      tellWhereReleasedSince(tx, 'found', await tx.manager.findOneByOrFail(PayRun, { id: ours.run })),
    );
    const open = await select(superuserUrl, 'SELECT kind FROM attention WHERE resolved_at IS NULL');
    const off = await select(superuserUrl, 'SELECT FROM service_switch WHERE submits_off');
    expect(off).toHaveLength(open.length);
    return open;
  }

  it('stops everything where a run that was made since pays its employee once more', async () => {
    expect(await told()).toEqual([{ kind: 'INVARIANT_BREACH' }]);
  });

  it('stops everything where such a row of an earlier run was released since', async () => {
    expect(await told({ made: BEFORE, released: { decided_at: AFTER } })).toEqual([
      { kind: 'INVARIANT_BREACH' },
    ]);
  });

  it.each<[string, Since]>([
    ['the run was made before', { made: BEFORE }],
    ['its row was released before', { made: BEFORE, released: { decided_at: BEFORE } }],
    ['its row was left out', { made: BEFORE, released: { decided_at: AFTER, outcome: 'LEFT_OUT' } }],
    [
      'another row of it was released',
      { made: BEFORE, released: { decided_at: AFTER, row_no: 2, payment_id: ours.voidPayment } },
    ],
    ['it pays another employee', { further: { employee_id: 'E3' } }],
    ['it pays for another month', { further: { period: '2026-10' } }],
    ['it pays another kind of pay', { further: { kind_of_pay: 'BONUS' } }],
    ['it does not pay', { further: { live: false, status: 'EXCLUDED', excluded_reason: 'not theirs' } }],
    ['it is of the same run', { further: { pay_run_id: ours.run, row_no: 8 } }],
    ['it is known to be submitted', { found: { bank_status: 'SETTLED' } }],
    ['no restore found it', { found: { restore_id: null, action_id: ours.action } }],
  ])('stops nothing where %s', async (_what, since) => {
    expect(await told(since)).toEqual([]);
  });
});
