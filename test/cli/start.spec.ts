import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import axios from 'axios';
import { DEMO_BANK } from '../../src/cli/demo-settings';
import { earliestExecutionDate } from '../../src/domain/business-day';
import { CHECKOUT, commandLine } from './compiled';
import {
  databasePort,
  descendantsOf,
  endAll,
  launch,
  leftOf,
  listens,
  type Running,
  until,
} from './processes';

const TIMEOUT_MS = 240_000;
/** From the first start to the last use of the date that it prints. */
const DATE_IS_USED_MS = 120_000;
/** The service may finish what it has in hand. */
const GONE_WITHIN_MS = 20_000;
/** What the README has a reader paste, and the answer it quotes of the last call. */
const TRY_IT = /### Try it\n.*?```sh\n(.*?)```.*?```\n(.*?)```/s;
const PRINTED_ADDRESS = 'http://127.0.0.1:3000';

describe('payrun start', () => {
  let checkout: string;
  let first: Running;

  beforeAll(async () => {
    commandLine();
    await leaveTheCutOff();
    checkout = mkdtempSync(join(tmpdir(), 'start-'));
    chmodSync(checkout, 0o755);
    first = start();
    await ready(first);
  }, TIMEOUT_MS);

  afterAll(async () => {
    endAll();
    await launch([commandLine(), 'db:stop'], { cwd: checkout }).ended;
    rmSync(checkout, { recursive: true });
  }, TIMEOUT_MS);

  /** Waits for the bank's cut-off where the date that is printed would be past soon. */
  const leaveTheCutOff = async () => {
    const datesIn = (ms: number) => earliestExecutionDate(new Date(Date.now() + ms), DEMO_BANK);
    while (datesIn(0) !== datesIn(DATE_IS_USED_MS)) await sleep(1_000);
  };
  const start = () => launch([commandLine(), 'start'], { cwd: checkout });
  const ready = (running: Running) => until(running, () => running.output().includes('Ctrl-C stops'));
  const kept = (name: string) => readFileSync(join(checkout, '.payrun', name), 'utf8');
  const keys = () => JSON.parse(kept('keys.json')) as Record<string, string>;
  /** What the command says, without the service's log. */
  const told = (running: Running) =>
    running
      .output()
      .split('\n')
      .filter((line) => !line.startsWith('{'));
  const addressOf = (running: Running) => /Payrun +(http:\S+)\/docs/.exec(running.output())?.[1] ?? '';

  it('serves the API, with an employer whose account is ready to pay', async () => {
    const url = addressOf(first);
    expect((await axios.get(`${url}/readyz`)).data.status).toBe('ready');
    const headers = { Authorization: `Bearer ${keys().operator}` };
    const { data: employers } = await axios.get(`${url}/v1/employers`, { headers });
    expect(employers.items).toHaveLength(1);
    const { data } = await axios.get(`${url}/v1/employers/${employers.items[0].id}/accounts`, { headers });
    expect(data.items).toMatchObject([{ ready: true, debtorName: 'Birch Foods SARL' }]);
  });

  it('prints an upload that works as it stands', async () => {
    const [, authorization, url] =
      /-H '(Authorization: [^']+)'[^']+'Content-Type: text\/csv'[^']+'([^']+)'/.exec(first.output()) ?? [];
    const { status, data } = await axios.post(url!, readFileSync(join(CHECKOUT, 'samples/payroll-5.csv')), {
      headers: { 'Content-Type': 'text/csv', Authorization: authorization!.split(': ')[1] },
    });
    expect(status).toBe(201);
    expect(data).toMatchObject({ status: 'READY', payments: 5, total: '19842.65' });
  });

  it(
    'does what the README has pasted next to it, and answers what it quotes',
    async () => {
      const [, pasted = '', quoted = ''] =
        TRY_IT.exec(readFileSync(join(CHECKOUT, 'README.md'), 'utf8')) ?? [];
      const { corrections, ...refusal } = JSON.parse(quoted.replace(',…}', '}'));
      const [date] = /(?<=executionDate=)[\d-]+/.exec(first.output()) ?? [];
      const script = pasted
        .replace(PRINTED_ADDRESS, addressOf(first))
        // The line of the README knows weekends and no other closed day.
        .replace(/^DATE=.*$/m, (line) => `${line}\nDATE=${date}`);
      symlinkSync(join(CHECKOUT, 'samples'), join(checkout, 'samples'));
      const { stdout } = await promisify(execFile)('sh', ['-c', script], { cwd: checkout });
      const codes = [...stdout.matchAll(/"code":"(\w+)"/g)].map(([, code]) => code);
      expect(codes).toEqual(['AMOUNT_FORMAT', 'PAY_FILE_REFUSED']);
      expect(stdout).toContain('table,approved,5,19842.65');
      const answer = JSON.parse(stdout.slice(stdout.lastIndexOf('{"faultCount"')));
      expect(answer).toMatchObject({ ...refusal, corrections: { rows: corrections.rows } });
    },
    TIMEOUT_MS,
  );

  it('hears of the bank by webhook', async () => {
    const bank = /Bank +(http:[^\s,]+)/.exec(first.output())?.[1] ?? '';
    const headers = { Authorization: 'Bearer sandbox-token' };
    const { data } = await axios.get(`${bank}/api/distributor/v1/hooks`, { headers });
    expect(data).toMatchObject([{ body: `${addressOf(first)}/webhooks/bank` }]);
  });

  it('keeps keys and secrets for its own user only', () => {
    for (const name of ['keys.json', 'secrets.json', 'bank.jsonl']) {
      expect(statSync(join(checkout, '.payrun', name)).mode & 0o777).toBe(0o600);
    }
  });

  it(
    'refuses a second start, and leaves the first alone',
    async () => {
      const second = start();
      expect(await second.ended).toBe(1);
      expect(second.output()).toContain('runs already');
      expect((await axios.get(`${addressOf(first)}/readyz`)).status).toBe(200);
    },
    TIMEOUT_MS,
  );

  it(
    'stops everything on a signal, finds everything again at the next start, and leaves nothing when it is killed',
    async () => {
      const processes = descendantsOf(first);
      first.process.kill('SIGTERM');
      expect(await first.ended).toBe(0);
      expect(leftOf(processes)).toEqual([]);
      expect(await listens(databasePort(first.output()))).toBe(false);
      const again = start();
      await ready(again);
      const dated = /\b\d{4}-\d{2}(-\d{2})?\b/g;
      const undated = (running: Running) => told(running).map((line) => line.replace(dated, 'a date'));
      expect(undated(again)).toEqual(undated(first).filter((line) => line !== 'Stopped.'));
      const more = descendantsOf(again);
      again.process.kill('SIGKILL');
      const isThere = async () => leftOf(more).length > 0 || (await listens(databasePort(again.output())));
      const deadline = Date.now() + GONE_WITHIN_MS;
      while ((await isThere()) && Date.now() < deadline) await sleep(100);
      expect(leftOf(more)).toEqual([]);
      expect(await listens(databasePort(again.output()))).toBe(false);
    },
    TIMEOUT_MS,
  );

  it(
    'asks for what a bank of the environment needs, and starts no sandbox',
    async () => {
      const alone = launch([commandLine(), 'start'], {
        cwd: checkout,
        env: { BANK_BASE_URL: 'http://127.0.0.1:1' },
      });
      expect(await alone.ended).toBe(78);
      expect(alone.output()).toContain('BANK_AMOUNT_UNIT');
    },
    TIMEOUT_MS,
  );
});
