import { readById } from '../../src/database/by-id';
import { EmployerAccount } from '../../src/employer/employer.entity';
import { Instruction } from '../../src/pay-run/instruction.entity';
import { accessRefused } from '../../src/pay-run/refused-access';
import { PayRun } from '../../src/pay-run/pay-run.entity';
import { raiseNotFollowed } from '../../src/pay-run/waits-for-account';
import { tellOfRefused } from '../../src/settlement/ended-unread';
import { Company, pathOf, PayOffice } from '../pay-run/pay-office';
import { mixedRun } from './mixed-run';

let office: PayOffice;
let company: Company;
let run: PayRun;
let instructionId: string;
beforeAll(async () => {
  office = await PayOffice.open();
});
afterAll(() => office?.close());
beforeEach(async () => {
  company = await office.company({ rowsPerInstruction: 2 });
  run = await mixedRun(office, company, {
    rows: [{ cents: 10_000, held: false, fate: 'SETTLED' }],
    ...{ stage: 'FOLLOWING', submits: [], rebuilt: false, excluded: false },
  });
  const [one] = await office.query<{ id: string }>(
    company,
    'SELECT id FROM instruction WHERE pay_run_id = $1',
    [run.id],
  );
  instructionId = one!.id;
});

/** How its instruction stands, and that it is read again then, and lacks something since then. */
async function stands(status: string, wakeAt: string, missing?: string, since?: string): Promise<void> {
  await office.tamper(
    `UPDATE instruction SET status = '${status}', ${status === 'CLOSED' ? `closed_at = now(), outcome = 'SETTLED'` : 'outcome = NULL'}
     WHERE id = '${instructionId}';
     INSERT INTO lease (subject_id, employer_id, kind, wake_at, missing, missing_since)
     VALUES ('${instructionId}', '${company.employerId}', 'FOLLOW', ${wakeAt},
       ${missing ? `'${missing}', now() - interval '${since}'` : 'NULL, NULL'})
     ON CONFLICT (subject_id) DO UPDATE SET kind = 'FOLLOW', wake_at = excluded.wake_at, missing = excluded.missing,
       missing_since = excluded.missing_since`,
  );
}

const reported = async () => {
  const { body } = await office.as(company, 'finance').get(pathOf(run, '/reconciliation')).expect(200);
  return { explained: body.explained as boolean, openDoubts: body.openDoubts as string[] };
};
const EXPLAINED = { explained: true, openDoubts: [] };
const decide = () =>
  office.tamper(
    `UPDATE attention SET resolved_at = now(), resolution = 'seen' WHERE employer_id = '${company.employerId}'`,
  );

describe('a run of which something ended, and to which our access is refused,', () => {
  const refused = (what: string) =>
    office.in(company, async (tx) =>
      tellOfRefused(tx, { run, instruction: await readById(tx, Instruction, instructionId) }, what),
    );
  const HIDDEN = 'The bank refused to show what became of submitted payments: The bank answered 401.';

  it.each(['CLOSED', 'VOID', 'ABANDONED', 'RELEASED'])(
    'is not explained once it was not read for a day, until people let it go on or it is read: %s',
    async (status) => {
      await refused(HIDDEN);
      await stands(status, 'now()', 'ENDED', '23 hours');
      const before = (await reported()).openDoubts;
      expect(before).not.toContain('CREDENTIALS');
      await stands(status, 'now()', 'ENDED', '25 hours');
      expect(await reported()).toEqual({ explained: false, openDoubts: ['CREDENTIALS', ...before] });
      await stands(status, 'now()');
      expect((await reported()).openDoubts).toEqual(before);
      await stands(status, 'now()', 'ENDED', '25 hours');
      await decide();
      expect((await reported()).openDoubts).toEqual(before);
    },
  );

  it('is so also where the question tells of what it could not send, and not of what ended', async () => {
    await stands('CLOSED', 'now()', 'ENDED', '25 hours');
    await office.in(company, (tx) => accessRefused(tx, run, undefined, 'The bank refused our access: 401.'));
    expect(await reported()).toEqual({ explained: false, openDoubts: ['CREDENTIALS'] });
  });

  it('is explained where the access is refused to what others send', async () => {
    await stands('CLOSED', 'now()', 'ENDED', '25 hours');
    const other = await office.run(company, [{ amountMinor: 100n, held: false }]);
    await office.in(company, (tx) => accessRefused(tx, other, undefined, 'The bank refused an add: 401.'));
    expect(await reported()).toEqual(EXPLAINED);
  });

  it('is explained where its watch is over', async () => {
    await refused(HIDDEN);
    await stands('CLOSED', `'infinity'`, 'ENDED', '25 hours');
    expect(await reported()).toEqual(EXPLAINED);
  });
});

describe('a run whose account was checked under another unit', () => {
  const otherUnit = () =>
    office.in(company, async (tx) =>
      raiseNotFollowed(tx, await readById(tx, EmployerAccount, company.accountId), [null]),
    );

  it.each(['SUBMITTED', 'CLOSED', 'VOID', 'ABANDONED', 'RELEASED'])(
    'is not explained while people are asked about that, since nothing of it is read: %s',
    async (status) => {
      await stands(status, 'now()');
      const before = await reported();
      await otherUnit();
      expect((await reported()).openDoubts).toEqual(['ACCOUNT_UNUSABLE', ...before.openDoubts]);
      await decide();
      expect((await reported()).openDoubts).toEqual(before.openDoubts);
    },
  );

  it.each([
    ['its watch is over', 'CLOSED', `'infinity'`],
    ['it was not sent', 'VERIFIED', 'now()'],
  ])('is as before where %s', async (_why, status, wakeAt) => {
    await stands(status, wakeAt);
    const before = await reported();
    await otherUnit();
    expect(await reported()).toEqual(before);
  });

  it('is explained while it is another account', async () => {
    await stands('CLOSED', 'now()');
    const other = await office.company({ rowsPerInstruction: 2 });
    await office.in(other, async (tx) =>
      raiseNotFollowed(tx, await readById(tx, EmployerAccount, other.accountId), [null]),
    );
    expect(await reported()).toEqual(EXPLAINED);
  });
});
