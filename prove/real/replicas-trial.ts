import { execute, select } from '../../test/support/database';
import type { Payroll } from '../../test/support/payroll';
import { uuidOf } from './record';
import { DID_NOT_STRIKE } from './stand';
import type { Trial } from './trial';

const REPLICAS = 4;
/** More than one process builds at once, so that others find some left. */
const INSTRUCTIONS = 8;
/** What one of so many processes takes its time for, on a busy machine, is no doubt: nobody is to be asked. */
const PATIENT = { BANK_TIMEOUT_MS: '20000', LEASE_MS: '20000', SUBMIT_DOUBT_MS: '20000' };

/** Several replicas on one run, of which more than one must have sent some of its calls. */
export function replicasTrial(): Trial {
  return {
    fault: 'four replicas on one run',
    assumptions: 'inside',
    short: true,
    stand: 'plain',
    instructions: INSTRUCTIONS,
    expects: [],
    meet: async (stand, rows) => {
      await keepClaims(stand.payroll);
      await stand.restart(PATIENT);
      for (let n = 1; n < REPLICAS; n += 1) await stand.spawn({ PORT: '0', ...PATIENT });
      const id = await stand.pay(rows);
      await stand.payroll.until(id, ['SETTLED'], 40_000);
      const senders = await sendersOf(stand.payroll, id);
      await stand.restart();
      stand.remark(`the calls of the run were sent by ${senders} of ${REPLICAS} replicas`);
      if (senders < 2) throw new Error(`${DID_NOT_STRIKE}: one replica did all the work`);
      return id;
    },
  };
}

/** A lease forgets who held it before: remembers each claim of one from now on. */
function keepClaims({ database }: Payroll): Promise<void> {
  return execute(
    database.superuserUrl,
    `CREATE TABLE claim (subject_id uuid, epoch bigint, holder text);
     CREATE FUNCTION keep_claim() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
       BEGIN INSERT INTO claim VALUES (NEW.subject_id, NEW.epoch, NEW.holder); RETURN NULL; END $$;
     CREATE TRIGGER keep_claim AFTER UPDATE OF epoch ON lease FOR EACH ROW EXECUTE FUNCTION keep_claim()`,
  );
}

/** How many processes wrote down intents of the run's calls, by the epochs of these. */
async function sendersOf({ database }: Payroll, runId: string): Promise<number> {
  const [sent] = await select<{ senders: number }>(
    database.superuserUrl,
    `SELECT count(DISTINCT split_part(c.holder, ':', 2))::int AS senders
     FROM (SELECT instruction_id, epoch FROM bank_call UNION SELECT instruction_id, epoch FROM add_intent) AS call
     JOIN instruction i ON i.id = call.instruction_id AND i.pay_run_id = $1
     JOIN claim c ON c.subject_id = i.id AND c.epoch = call.epoch`,
    [uuidOf(runId)],
  );
  return sent?.senders ?? 0;
}
