import { setTimeout as sleep } from 'node:timers/promises';
import { BankGateway } from '../../src/bank/gateway';
import { OverduePeriods } from '../../src/schedule/overdue-periods';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll } from '../support/payroll';

const MINUTE_MS = 60_000;

let payroll: Payroll;
let date: string;
beforeEach(async () => {
  ({ payroll, date } = await Payroll.startOnPayday({ rowsPerInstruction: 2 }));
});
afterEach(() => payroll.close());

const at = (time: string) => payroll.clock.set(new Date(`${date}T${time}Z`));
const tick = () => payroll.services[0]!.app.get(OverduePeriods).tick();
const decided = async (path: string, action: string) =>
  expect((await payroll.decide(path, { action, reason: 'we have looked into it' })).status).toBe(200);
const kindsOf = async (id: string) =>
  (await payroll.attention()).filter(({ payRunId }) => payRunId === id).map(({ kind }) => kind);
/** All work is taken up again, when more is due. */
const laterOn = async () => {
  payroll.clock.offsetMs += 11 * MINUTE_MS;
  await payroll.wakeAll();
  await sleep(1_000);
  for (let n = 0; n < 2; n += 1) await tick();
};

const lapsed = async () => {
  const id = await payroll.paid(payFile(payRows(2)), { submitAt: `${date}T15:00:00Z` });
  at('16:00:01');
  return id;
};

const released = async () => {
  const gateway = payroll.services[0]!.app.get(BankGateway);
  const turnToSubmit = gateway.turnToSubmit.bind(gateway);
  gateway.turnToSubmit = () => {
    at('16:00:01');
    return turnToSubmit();
  };
  return payroll.paid(payFile(payRows(2)));
};

const unapproved = async () => {
  const { id } = await payroll.uploaded(payFile(payRows(2)), { submitAt: `${date}T15:00:00Z` });
  at('16:00:01');
  await tick();
  return id;
};

const stopped = async () => {
  const id = await payroll.paid(payFile(payRows(2)), payroll.later());
  const stop = await payroll.as('operator').post(payroll.path('/stop'), { reason: 'a second look' });
  expect(stop.status).toBe(200);
  await laterOn();
  return id;
};

/** It pays again whom an instruction pays that was given up, and that somebody else submits. */
const repaying = async () => {
  const rows = payRows(4);
  await payroll.fault({ operation: 'add', kind: '422', nth: 1 });
  const cancelled = await payroll.paid(payFile(rows));
  await payroll.askedAbout(cancelled, 'ROW_REFUSED_BY_BANK');
  const verified = async () =>
    ((await payroll.run(cancelled)).instructions as { status: string; bankInstructionId: string }[]).find(
      ({ status }) => status === 'VERIFIED',
    );
  await eventually(async () => (await verified()) !== undefined, 15_000);
  const { bankInstructionId } = (await verified())!;
  const cancellation = payroll.path(`/pay-runs/${cancelled}/cancellation`);
  await payroll.as('preparer').post(cancellation, { reason: 'the wrong file' });
  await payroll.until(cancelled, ['CANCELLED']);
  await payroll.letRest('FOLLOW');
  const id = await payroll.paid(payFile(rows), payroll.later());
  await payroll.submitAtBank(bankInstructionId);
  // A bank that shows it late is waited for.
  await sleep(1_000);
  await payroll.wakeAll();
  await decided(await payroll.askedAbout(cancelled, 'INVARIANT_BREACH'), 'RESUME');
  return id;
};

it.each([
  ['APPROVAL_LAPSED', 'the run is told as not approved', lapsed, ['PERIOD_OVERDUE']],
  ['STALE_DATE', 'nothing more is asked', released, []],
  ['PERIOD_OVERDUE', 'nothing more is asked', unapproved, []],
  ['DUE_BUT_STOPPED', 'nothing more is asked', stopped, []],
  ['POSSIBLE_DUPLICATE_PAY', 'the run is told as stopped once it is due', repaying, ['DUE_BUT_STOPPED']],
])('once two people have acknowledged %s, %s, and nobody is paid', async (kind, _what, arises, next) => {
  const id = await arises();
  const path = await payroll.askedAbout(id, kind);
  expect((await payroll.as('finance').get(path)).data.actions).toEqual(['ACKNOWLEDGE']);
  const paid = (await payroll.ledger()).payees;
  const proposal = { action: 'ACKNOWLEDGE', reason: 'we have seen it' };
  expect((await payroll.propose(path, proposal)).status).toBe(201);
  expect((await payroll.confirm(path, 'operator')).data.code).toBe('SECOND_PERSON_REQUIRED');
  expect((await payroll.confirm(path)).data).toMatchObject({ resolution: 'ACKNOWLEDGE: we have seen it' });
  expect(await kindsOf(id)).toEqual([]);
  await laterOn();
  expect(await kindsOf(id)).toEqual(next);
  expect((await payroll.ledger()).payees).toEqual(paid);
});
