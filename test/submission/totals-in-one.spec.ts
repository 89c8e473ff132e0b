import { BankGateway } from '../../src/bank/gateway';
import type { BankInstruction } from '../../src/bank/records';
import { execute, select } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';

/** Once by the answer to the submit, and then by reads. */
const TRIED = 3;

describe('a submit whose totals differ', () => {
  let payroll: Payroll;
  afterEach(async () => {
    jest.restoreAllMocks();
    await payroll.close();
  });

  const recorded = () =>
    select(
      payroll.database.superuserUrl,
      `SELECT i.status, i.totals_checked_at AS checked, s.outcome IS NOT DISTINCT FROM 'EXECUTED' AS executed,
         (SELECT array_agg(DISTINCT p.status) FROM payment p WHERE p.pay_run_id = i.pay_run_id) AS payments
       FROM instruction i JOIN submit_attempt s ON s.employer_id = i.employer_id AND s.instruction_id = i.id`,
    );
  const isTried = async () => {
    const [tried] = await select<{ times: string }>(
      payroll.database.superuserUrl,
      'SELECT last_value AS times FROM tells',
    );
    return Number(tried?.times) >= TRIED;
  };

  it('is not recorded as executed while that cannot be told: both are one transaction', async () => {
    payroll = await Payroll.start({
      settings: { SUBMIT_DOUBT_MS: '60000' },
      sandbox: { stepMs: 600_000, variants: { linkReads: 'allowed' } },
    });
    const one = (shown: BankInstruction) => ({ ...shown, calculatedCount: 3 });
    const gateway = payroll.services[0]!.app.get(BankGateway);
    const { sendSubmit, getInstruction } = gateway;
    let wasSent = false;
    jest.spyOn(gateway, 'sendSubmit').mockImplementation(async (...sent) => {
      const answer = await sendSubmit.apply(gateway, sent);
      wasSent = true;
      return answer.kind === 'yes' ? { ...answer, value: one(answer.value) } : answer;
    });
    jest.spyOn(gateway, 'getInstruction').mockImplementation(async (...asked) => {
      const shown = await getInstruction.apply(gateway, asked);
      return wasSent ? one(shown) : shown;
    });
    await execute(
      payroll.database.superuserUrl,
      `CREATE SEQUENCE tells;
       CREATE FUNCTION cannot_tell() RETURNS trigger SECURITY DEFINER LANGUAGE plpgsql AS $$ BEGIN
         PERFORM nextval('public.tells'); RAISE EXCEPTION 'not now'; END $$;
       CREATE TRIGGER cannot_tell BEFORE INSERT ON attention FOR EACH ROW
         WHEN (NEW.kind = 'TOTAL_MISMATCH_AFTER_SUBMIT') EXECUTE FUNCTION cannot_tell()`,
    );
    const id = await payroll.paid(payFile(payRows(2)));
    await eventually(isTried, 30_000);
    expect(await recorded()).toEqual([
      { status: 'SUBMIT_INTENT', checked: null, executed: false, payments: ['AT_BANK'] },
    ]);

    await execute(payroll.database.superuserUrl, 'DROP TRIGGER cannot_tell ON attention');
    await payroll.askedAbout(id, 'TOTAL_MISMATCH_AFTER_SUBMIT');
    // A read may have compared them since.
    expect(await recorded()).toMatchObject([
      { status: 'SUBMITTED', executed: true, payments: ['SUBMITTED'] },
    ]);
    expect((await payroll.calls()).submit).toBe(1);
  });
});
