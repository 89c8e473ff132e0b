import type { PayRun } from '../../src/pay-run/pay-run.entity';
import { type Company, PayOffice } from './pay-office';
import { paymentIdsOf, salaryAgain } from './salary-again';

let office: PayOffice;
let company: Company;
let salary: string;
let again: string;
let further: PayRun;
beforeAll(async () => {
  office = await PayOffice.open();
});
afterAll(() => office?.close());

beforeEach(async () => {
  const made = await salaryAgain(office, 'SETTLED');
  ({ company, further } = made);
  const first = async (run: PayRun) => (await paymentIdsOf(office, company, run))[0]!;
  [salary, again] = [await first(made.run), await first(further)];
});

const isAsked = async () => {
  const asked = 'SELECT may_pay_the_same_unasked($1, $2, $3) AS unasked';
  return (await office.query<{ unasked: boolean }>(company, asked, [company.employerId, again, salary]))[0]!
    .unasked;
};

const lessIsBack = () => office.tamper('UPDATE payment SET returned_minor = 4000 WHERE id = $1', [salary]);

/** People are told of the salary, so long after the run was made. */
const told = (kind: string, since = '1 second') =>
  office.tamper(
    `INSERT INTO attention (employer_id, id, kind, subject_id, payment_id, happened, certain, ask_bank, lacking_minor, opened_at)
     SELECT $1, gen_random_uuid(), $2, $3, $3, 'it', 'it', 'it', 6_000, created_at + $5::interval FROM pay_run WHERE id = $4`,
    [company.employerId, kind, salary, further.id, since],
  );

const released = (since: string) =>
  office.tamper(
    `INSERT INTO pay_hold (employer_id, pay_run_id, row_no, code, payment_id, outcome, reason, decided_by, decided_at)
     SELECT employer_id, pay_run_id, row_no, 'EMPLOYEE_PAY_RETURNED', id, 'RELEASED', 'she is owed it', $2,
       (SELECT created_at FROM pay_run WHERE id = pay_run_id) + $3::interval FROM payment WHERE id = $1`,
    [again, company.approver.personId, since],
  );

it('what pays a salary again that came back is not asked about while nothing else is shown of it', async () => {
  expect(await isAsked()).toBe(false);
});

describe.each(['CONTRADICTION', 'ECHO_MISMATCH'])('of which %s says that less of it is back', (kind) => {
  beforeEach(() => (kind === 'ECHO_MISMATCH' ? lessIsBack() : undefined));

  it('is asked about', async () => {
    await told(kind);
    expect(await isAsked()).toBe(true);
  });

  it('is not where people were told before its run was made', async () => {
    await told(kind, '-1 second');
    expect(await isAsked()).toBe(false);
  });

  it.each([
    ['not where it was released after that', '2 seconds', false],
    ['also where it was released before', '0.5 seconds', true],
  ])('is %s', async (_, since, asked) => {
    await told(kind);
    await released(since);
    expect(await isAsked()).toBe(asked);
  });
});

it('is not asked about once all of it is back, whatever was asked before', async () => {
  await told('ECHO_MISMATCH');
  expect(await isAsked()).toBe(false);
});
