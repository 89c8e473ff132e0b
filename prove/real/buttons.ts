import axios, { type AxiosResponse } from 'axios';
import { MAGIC_CREDITORS } from '../../src/bank-sandbox/magic';
import { DEFAULT_SEED } from '../../src/bank-sandbox/seed';
import { monthsAfter } from '../../src/schedule/period-dates';
import { payFile, type Row } from '../../test/support/pay-rows';
import type { Payroll } from '../../test/support/payroll';
import { type Effects, madeSoFar, otherEffects } from './effects';
import { saidAgain } from './said-again';
import type { Stand } from './stand';
import type { Trial } from './trial';

type Role = Parameters<Payroll['as']>[0];
type Ids = Record<string, string>;
interface Body {
  data?: unknown;
  params?: Ids;
  headers?: Ids;
  /** What all its presses together make; one entry of an audit chain unless said otherwise. */
  makes?: Effects;
  /** Each press that is not refused does it anew, and has an entry of its own; or only where it comes later than others. */
  anew?: boolean | 'later';
}

const PRESSES = 5;
const reason = 'pressed five times';
const CSV = { 'content-type': 'text/csv' };

/** Every route of the API that changes something, pressed five times at once. */
export function buttonTrial(): Trial {
  return {
    fault: 'every button of the API pressed five times at once',
    assumptions: 'inside',
    short: true,
    stand: 'hooked',
    meet: async (stand, rows) => {
      // What the bank does not answer in time, on a busy machine, is another trial's.
      await stand.restart({ BANK_TIMEOUT_MS: '20000' });
      const buttons = new Buttons(stand.payroll);
      await pressSettings(buttons, stand.payroll);
      await pressFaulty(buttons, stand);
      stand.noteApproved(rows);
      const id = await pressRun(buttons, stand, rows);
      await pressAfterwards(buttons, stand, id);
      await buttons.pressedAll();
      return id;
    },
  };
}

/** Presses, and remembers which routes were pressed. */
class Buttons {
  private readonly pressed = new Set<string>();

  constructor(readonly payroll: Payroll) {}

  /**
   * @throws where the service answers that it broke, or refuses every one, or where all together do something else than
   * one does; answers the first that is no refusal
   */
  async press(
    by: Role,
    button: string,
    ids: Ids = {},
    { makes, anew = false, ...body }: Body = {},
  ): Promise<AxiosResponse> {
    this.pressed.add(button);
    const before = await madeSoFar(this.payroll);
    const [method = '', template = ''] = button.split(' ');
    const known: Ids = { employerId: this.payroll.employer, ...ids };
    const url = template.replace(/\{(\w+)\}/g, (_all, name: string) => known[name] ?? 'none');
    let unknown = 0;
    const press = () => this.payroll.as(by).request({ method, url, ...body });
    const answers = await Promise.all(
      Array.from({ length: PRESSES }, () => saidAgain(press, () => (unknown += 1))),
    );
    const broken = answers.find(({ status }) => status >= 500);
    if (broken) throw new Error(`${button} answered ${broken.status} ${JSON.stringify(broken.data)}`);
    const done = answers.filter(({ status }) => status < 300);
    if (!done[0]) throw new Error(`${button} was refused: ${JSON.stringify(answers[0]?.data)}`);
    const after = await madeSoFar(this.payroll);
    const made = Math.min(Math.max(after.entries - before.entries, 1), done.length);
    const entries = { true: done.length, false: 1, later: made }[`${anew}`];
    const others = otherEffects(before, after, { entries, ...makes }, anew === false ? 0 : unknown);
    if (others.length > 0) throw new Error(`${button}, pressed five times, made ${others.join(', ')}`);
    return done[0];
  }

  /** @throws where the API has a button that was not pressed */
  async pressedAll(): Promise<void> {
    const { data } = await this.payroll.as('operator').get('/openapi.json');
    const buttons = Object.entries(data.paths as Record<string, object>).flatMap(([path, methods]) =>
      Object.keys(methods).flatMap((method) => (method === 'get' ? [] : [`${method.toUpperCase()} ${path}`])),
    );
    const left = buttons.filter((button) => !this.pressed.has(button));
    if (left.length > 0) throw new Error(`not pressed: ${left.join(', ')}`);
  }
}

const EMPLOYER = '/v1/employers/{employerId}';
const RUN = `${EMPLOYER}/pay-runs/{runId}`;

async function pressSettings(buttons: Buttons, payroll: Payroll): Promise<void> {
  const press = buttons.press.bind(buttons);
  const company = { name: 'Aspen Tools SARL', timeZone: 'Europe/Paris' };
  await press('administrator', 'POST /v1/employers', {}, { data: company, makes: { employers: 1 } });
  await press('operator', `PATCH ${EMPLOYER}`, {}, { data: { netChangeBasisPoints: 1_500 }, anew: true });
  const { data: me } = await payroll.as('second').get('/v1/me');
  const person = { personId: String(me.person.id), role: 'finance' };
  const roles = `${EMPLOYER}/people/{personId}/roles`;
  await press('administrator', `POST ${roles}`, person, { data: { role: 'finance' } });
  await press('administrator', `DELETE ${roles}/{role}`, person);
  await pressAccounts(buttons, payroll);
  await press('operator', `DELETE ${EMPLOYER}/hook`, {}, { anew: true });
  await press('operator', `POST ${EMPLOYER}/hook`, {}, { makes: { entries: 0 } });
  await press('operator', `POST ${EMPLOYER}/stop`, {}, { data: { reason } });
  const { data: employer } = await payroll.as('approver').get(payroll.path(''));
  const own = { reason, stoppedAt: employer.stopped.since };
  await press('approver', `POST ${EMPLOYER}/resume`, {}, { data: own });
  const { data: everybody } = await press('administrator', 'POST /v1/service/stop', {}, { data: { reason } });
  const all = { reason, stoppedAt: everybody.changedAt };
  await press('administrator', 'POST /v1/service/resume', {}, { data: all });
  const profile = { data: { name: 'five' } };
  const { data: made } = await press(
    'preparer',
    `POST ${EMPLOYER}/pay-file-profiles`,
    {},
    { ...profile, makes: { profiles: 1 } },
  );
  const ids = { profileId: String(made.id) };
  await press('preparer', `PUT ${EMPLOYER}/pay-file-profiles/{profileId}`, ids, { ...profile, anew: true });
  await press('preparer', `DELETE ${EMPLOYER}/pay-file-profiles/{profileId}`, ids);
  const terms = {
    dayOfMonth: 'LAST_BANKING_DAY',
    whenClosed: 'PREVIOUS',
    submitDaysBefore: 1,
    submitTime: '09:00',
  };
  const firstPeriod = monthsAfter(payroll.clock.now().toISOString().slice(0, 7), 12);
  const schedule = { accountId: payroll.account, timeZone: 'UTC', firstPeriod, ...terms };
  const { data: kept } = await press(
    'operator',
    `POST ${EMPLOYER}/schedules`,
    {},
    { data: schedule, makes: { schedules: 1 } },
  );
  const scheduleId = String(kept.id);
  await press(
    'operator',
    `PATCH ${EMPLOYER}/schedules/{scheduleId}`,
    { scheduleId },
    { data: { active: false } },
  );
}

async function pressAccounts(buttons: Buttons, payroll: Payroll): Promise<void> {
  const press = buttons.press.bind(buttons);
  const [alder, birch] = DEFAULT_SEED.users;
  const attached = {
    bankAccountId: String(alder?.account?.accountId),
    debtorName: alder?.holderName,
    bankIdentityId: String(alder?.identityId),
  };
  // It is probed at once, which is the other entry.
  const makes = { accounts: 1, entries: 2 };
  const { data: second } = await press(
    'operator',
    `POST ${EMPLOYER}/accounts`,
    {},
    { data: attached, makes },
  );
  const bankAccountId = String(birch?.account?.accountId);
  const bankIdentityId = String(birch?.identityId);
  const account = { accountId: payroll.account };
  const one = `${EMPLOYER}/accounts/{accountId}`;
  await press('operator', `PATCH ${one}`, account, { data: { bankIdentityId }, anew: true });
  await press('operator', `POST ${one}/probe`, account, { anew: true });
  const { data: portal } = await axios.get<{ accountId: string; balance: string }[]>(
    `${payroll.bank.url}/sandbox/portal/accounts`,
  );
  const balance = portal.find(({ accountId }) => accountId === bankAccountId)?.balance;
  await press('operator', `POST ${one}/balance-check`, account, { data: { balance }, anew: true });
  const debtorName = 'Aspen Tools SARL';
  const user = { userId: 601, identityId: 9601, holderName: debtorName, kyc: 'VERIFIED' };
  await axios.post(`${payroll.bank.url}/sandbox/users`, user);
  const opening = { bankUserId: '601', productId: '12', debtorName };
  const { data: opened } = await press(
    'operator',
    `POST ${EMPLOYER}/bank-accounts`,
    {},
    { data: opening, makes },
  );
  await press('operator', `DELETE ${one}`, { accountId: String(opened.id) });
  await press('operator', `POST ${one}/detachment`, { accountId: String(second.id) }, { data: { reason } });
}

/** A file with a row that is held and one that is kept back: released, corrected, and then not paid at all. */
async function pressFaulty(buttons: Buttons, stand: Stand): Promise<void> {
  const press = buttons.press.bind(buttons);
  const { payroll } = stand;
  await payroll.as('operator').patch(payroll.path(''), { faultPolicy: { policy: 'hold' } });
  const [first, second] = stand.freshRows() as [Row, Row];
  const file = payFile([first, { ...first, amount: '12.34' }, { ...second, amount: '0.00' }]);
  const { id } = await payroll.uploaded(file);
  const { data: held } = await payroll.as('approver').get(payroll.path(`/pay-runs/${id}/holds`));
  const paymentId = String(held.items[0].payment.id);
  const release = { data: { code: 'EMPLOYEE_TWICE', paymentId, reason }, makes: { entries: 2, releases: 1 } };
  await press('approver', `POST ${RUN}/holds/release`, { runId: id }, release);
  const { data: kept } = await payroll.as('preparer').get(payroll.path(`/pay-runs/${id}/corrections.csv`));
  const mended = String(kept).replace(',0.00,', `,${second.amount},`);
  await press('preparer', `POST ${RUN}/corrections`, { runId: id }, { data: mended, headers: CSV });
  await press('preparer', `POST ${RUN}/cancellation`, { runId: id }, { data: { reason } });
}

/** A run with every button on its way; its last row fails at the bank, its first submit is not answered. */
async function pressRun(buttons: Buttons, { payroll }: Stand, rows: readonly Row[]): Promise<string> {
  const press = buttons.press.bind(buttons);
  await payroll.leaveTheLastMinutes();
  const failing = MAGIC_CREDITORS.find(({ effect }) => effect === 'fails')?.iban ?? '';
  const file = payFile(rows.map((row, n) => (n === rows.length - 1 ? { ...row, iban: failing } : row)));
  const executionDate = payroll.executionDate();
  const params = { period: executionDate.slice(0, 7), executionDate, submitAt: new Date().toISOString() };
  const upload = { data: file, params, headers: CSV };
  await press('preparer', `POST ${EMPLOYER}/pay-files/preview`, {}, { ...upload, makes: { entries: 0 } });
  const { data: run } = await press(
    'preparer',
    `POST ${EMPLOYER}/pay-files`,
    {},
    { ...upload, makes: { runs: 1 } },
  );
  const ids = { runId: String(run.id) };
  const makes = { approvals: 1 };
  const approval = { data: { rootHash: run.rootHash, total: run.total }, makes };
  await press('approver', `POST ${RUN}/iban-ticks`, ids, {
    data: { rootHash: run.rootHash, all: true, reason },
    anew: true,
  });
  await press('preparer', `POST ${RUN}/stop`, ids, { data: { reason } });
  await press('approver', `POST ${RUN}/approvals`, ids, approval);
  await press('approver', `DELETE ${RUN}/approvals`, ids, { data: { reason } });
  await press('preparer', `POST ${RUN}/amendments`, ids, {
    data: { executionDate, reason },
    makes: { amendments: PRESSES },
    anew: true,
  });
  await payroll.fault({ operation: 'submit', kind: 'request-lost', nth: 1 });
  const { rootHash, total, stopped } = await payroll.run(ids.runId);
  await press('approver', `POST ${RUN}/approvals`, ids, { data: { rootHash, total }, makes });
  await press('approver', `POST ${RUN}/resume`, ids, { data: { reason, stoppedAt: stopped.at } });
  return ids.runId;
}

async function pressAfterwards(buttons: Buttons, { payroll }: Stand, runId: string): Promise<void> {
  const press = buttons.press.bind(buttons);
  const asked = (await payroll.askedAbout(runId, 'SUBMIT_UNKNOWN')).split('/').at(-1) ?? '';
  const actions = `${EMPLOYER}/attention/{attentionId}/actions`;
  const ids = { attentionId: asked };
  const word = { data: { action: 'NOT_EXECUTED', reason, evidence: 'by the book of the bank' } };
  const proposal = { ...word, makes: { actions: 1 } };
  await press('operator', `POST ${actions}`, ids, proposal);
  await press('operator', `DELETE ${actions}`, ids);
  const { data: proposed } = await press('operator', `POST ${actions}`, ids, proposal);
  await press('second', `POST ${actions}/confirmation`, ids, { data: { actionId: proposed.id } });
  await payroll.until(runId, ['PARTLY_SETTLED', 'FAILED'], 30_000);
  const executionDate = payroll.executionDate();
  const again = await press(
    'preparer',
    `POST ${RUN}/successor`,
    { runId },
    { data: { executionDate }, makes: { runs: 1 } },
  );
  const successor = { runId: String(again.data.id) };
  await press('preparer', `POST ${RUN}/cancellation`, successor, { data: { reason } });
  const { data: payments } = await payroll
    .as('finance')
    .get(payroll.path(`/pay-runs/${runId}/payments`), { params: { status: 'SETTLED' } });
  const { employeeId } = payments.items[0];
  const release = { employeeId, period: executionDate.slice(0, 7), reason };
  await press('approver', `POST ${EMPLOYER}/releases`, {}, { data: release, makes: { releases: 1 } });
  await press('approver', `POST ${EMPLOYER}/releases/withdrawal`, {}, { data: release });
  // Who says it again once everybody was told says it of another restore.
  await press('administrator', 'POST /v1/service/restored', {}, { data: { reason }, anew: 'later' });
}
