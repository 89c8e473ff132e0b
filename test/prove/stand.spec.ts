import { readAgain } from '../../prove/real/record';
import { Stand } from '../../prove/real/stand';
import { buildWithCrashPoints } from '../support/crash-build';
import { execute, select } from '../support/database';
import { eventually } from '../support/eventually';

/** Two runs come to their end in it, and a busy machine waits four times as long. */
const WAITS_MS = 2_500;

describe('a stand of the proof', () => {
  let stand: Stand;
  beforeAll(async () => {
    buildWithCrashPoints();
    stand = await Stand.open({ settings: { BANK_TIMEOUT_MS: '3000' }, waitsMs: WAITS_MS });
  });
  afterAll(() => stand.close());

  const concluded = async (arrange: () => Promise<void>) => {
    const rows = stand.freshRows(1);
    const startedMs = Date.now();
    await arrange();
    return stand.conclude(await stand.pay(rows), rows, startedMs);
  };

  it('knows what struck, what did not, and what people were asked', async () => {
    const { missed, raised, stuck } = await concluded(async () => {
      await stand.payroll.fault({ operation: 'submit', kind: '403', every: 1 });
      await stand.payroll.fault({ operation: 'submit', kind: 'hang', nth: 9 });
      stand.proxy.meddle = ({ body }) => ({ body });
    });
    expect(missed).toEqual(['submit hang', 'what the network was to do']);
    expect(raised).toEqual(['CREDENTIALS', 'SUBMIT_REFUSED']);
    expect(stuck).toBe(false);
  });

  it('forgets the faults of a trial when the next begins', async () => {
    const { missed, raised, attention } = await concluded(() => Promise.resolve());
    expect({ missed, raised, attention }).toEqual({ missed: [], raised: [], attention: false });
  });

  it('has what is just being read, and rests then, read once more', async () => {
    const { superuserUrl } = stand.payroll.database;
    const [read] = await select<{ run: string; id: string; epoch: string }>(
      superuserUrl,
      `UPDATE lease l SET holder = 'another', leased_until = 'infinity', wake_at = 'infinity', woken_at = NULL
       FROM instruction i WHERE i.id = l.subject_id AND i.id = (SELECT id FROM instruction WHERE status = 'CLOSED' LIMIT 1)
       RETURNING i.pay_run_id AS run, i.id, l.epoch`,
    );
    const { run, id, epoch } = read!;
    const lease = () =>
      select<{ woken_at: Date | null; epoch: string }>(
        superuserUrl,
        'SELECT woken_at, epoch FROM lease WHERE subject_id = $1',
        [id],
      );
    const reading = readAgain(stand.payroll, [run]);
    await eventually(async () => (await lease())[0]?.woken_at !== null, 5_000);
    await execute(
      superuserUrl,
      `UPDATE lease SET holder = NULL, leased_until = NULL, wake_at = clock_timestamp() + interval '1 second'
       WHERE subject_id = $1`,
      [id],
    );
    await reading;
    expect(await lease()).toEqual([{ woken_at: null, epoch: String(Number(epoch) + 1) }]);
  });

  it('finds undecided what the desk refuses to decide, whatever people try', async () => {
    const { superuserUrl } = stand.payroll.database;
    await execute(
      superuserUrl,
      `CREATE FUNCTION refuses() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         RAISE EXCEPTION 'refused'; END $$;
       CREATE TRIGGER aa_refuses BEFORE INSERT ON attention_action FOR EACH ROW EXECUTE FUNCTION refuses()`,
    );
    const { undecided, stuck, standing } = await concluded(() =>
      stand.payroll.fault({ operation: 'submit', kind: '422', every: 1 }),
    );
    await execute(superuserUrl, 'DROP TRIGGER aa_refuses ON attention_action');
    expect({ undecided, stuck }).toEqual({ undecided: true, stuck: false });
    expect(standing).toEqual([
      expect.stringMatching(/^SUBMIT_REFUSED stayed open: the desk refused NOT_EXECUTED \(500 /),
    ]);
  });

  it('finds a run stuck that never ends after people have decided what it asked', async () => {
    await execute(
      stand.payroll.database.superuserUrl,
      `CREATE FUNCTION never_ends() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'never'; END $$;
       CREATE TRIGGER aa_never BEFORE UPDATE ON pay_run FOR EACH ROW
         WHEN (OLD.status = 'FOLLOWING' AND NEW.status <> 'FOLLOWING') EXECUTE FUNCTION never_ends()`,
    );
    const finding = await concluded(() =>
      stand.payroll.fault({ operation: 'submit', kind: '403', every: 1 }),
    );
    expect(finding).toMatchObject({ stuck: true, attention: true });
  });

  it('waits for what the reconciler finds after the run has ended, and after the last trial', async () => {
    const { superuserUrl } = stand.payroll.database;
    await execute(
      superuserUrl,
      `DROP TRIGGER aa_never ON pay_run;
       CREATE FUNCTION breaks_rows() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
         SET session_replication_role = replica AS $$
         BEGIN UPDATE payment SET row_hash = sha256('x') WHERE pay_run_id = NEW.id; RETURN NULL; END $$;
       CREATE TRIGGER zz_breaks AFTER UPDATE ON pay_run FOR EACH ROW
         WHEN (NEW.status = 'SETTLED' AND OLD.status <> 'SETTLED') EXECUTE FUNCTION breaks_rows()`,
    );
    const { raised, stuck } = await concluded(() => Promise.resolve());
    expect({ raised, stuck }).toEqual({ raised: ['INVARIANT_BREACH'], stuck: false });
    await execute(
      superuserUrl,
      `SET session_replication_role = replica;
       UPDATE approval SET voided_at = now(), voided_reason = 'x'`,
    );
    expect(await stand.lastLook()).toBe('an invariant broke');
  });
});
