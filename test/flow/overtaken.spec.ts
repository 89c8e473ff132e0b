import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { BankHttp, HttpResult } from '../../src/bank/http';
import { execute, select } from '../support/database';
import { eventually } from '../support/eventually';
import { payFile, payRows } from '../support/pay-rows';
import { Payroll } from '../support/payroll';

/** Who works on what, and how long the bank's lists are, whoever learns it: nothing else may have changed. */
const NOT_CONCLUDED = ['lease', 'bank_list'];
/** A worker concludes at once from what it read. */
const CONCLUDES_WITHIN_MS = 300;

function answered(status: number, text: string): HttpResult {
  return { kind: 'answer', status, header: () => undefined, text };
}

describe('a worker that is overtaken while it reads concludes nothing from a read that', () => {
  let payroll: Payroll;
  let next = 1;
  /** Asked at every read of the bank: what is answered in its place, if anything. */
  let atRead: (() => Promise<HttpResult | undefined>) | undefined;

  beforeAll(async () => {
    payroll = await Payroll.start({ settings: { LEASE_MS: '60000', RECONCILE_MS: '3600000' } });
    const { send } = BankHttp.prototype;
    jest.spyOn(BankHttp.prototype, 'send').mockImplementation(async function (this: BankHttp, request) {
      const answer = await send.call(this, request);
      return (request.method === 'GET' && (await atRead?.())) || answer;
    });
  });
  afterAll(async () => {
    jest.restoreAllMocks();
    await payroll.close();
  });

  /** Another holds every lease from now on, as one who took over does. */
  const overtake = () =>
    execute(
      payroll.database.superuserUrl,
      `UPDATE lease SET holder = 'another', epoch = epoch + 1, leased_until = 'infinity', wake_at = 'infinity'`,
    );
  const giveBack = () =>
    execute(
      payroll.database.superuserUrl,
      `UPDATE lease SET holder = NULL, leased_until = NULL, wake_at = now() WHERE holder = 'another'`,
    );

  /** A hash of each table. */
  const stored = async (): Promise<Record<string, string>> => {
    const { superuserUrl } = payroll.database;
    const tables = await select<{ name: string }>(
      superuserUrl,
      `SELECT format('%I', relname) AS name FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition
         AND relnamespace = 'public'::regnamespace AND relname <> ALL ($1)`,
      [NOT_CONCLUDED],
    );
    const hashes = tables.map(
      ({ name }) => `(SELECT md5(string_agg(t::text, '' ORDER BY t::text)) FROM ${name} t) AS ${name}`,
    );
    const [row] = await select(superuserUrl, `SELECT ${hashes.join(', ')}`);
    return row!;
  };
  /** Whether anybody works, or will soon, on what was not overtaken: it is on the work list since. */
  const othersWork = async (): Promise<boolean> => {
    const left = await select(
      payroll.database.superuserUrl,
      `SELECT FROM lease WHERE holder <> 'another' OR (holder IS NULL AND wake_at < now() + interval '5 seconds')`,
    );
    return left.length > 0;
  };
  /** What is stored once the calls that others have under way are. */
  const settled = async (): Promise<Record<string, string>> => {
    let last = await stored();
    await eventually(async () => {
      const isQuiet = !(await othersWork());
      const now = await stored();
      const isSame = isDeepStrictEqual(now, last);
      last = now;
      return isSame && isQuiet;
    }, 10_000);
    return last;
  };
  /** Whether all of the run was read, the last look at what it took from the account included. */
  const isOver = async (id: string): Promise<boolean> => {
    const due = await select(
      payroll.database.superuserUrl,
      `SELECT FROM lease WHERE kind = 'FOLLOW' AND (holder IS NOT NULL OR wake_at < now() + interval '20 hours')`,
    );
    return due.length === 0 && (await payroll.run(id)).status === 'SETTLED';
  };

  it.each([
    ['is answered', undefined],
    ['is forbidden', answered(403, '{}')],
    ['finds nothing', answered(404, '{}')],
    ['is not understood', answered(200, 'neither a record nor a list')],
  ])(
    '%s, whichever read of a run that is',
    async (_, answer) => {
      let overtaken = 0;
      let held: { before?: Record<string, string> };
      do {
        held = {};
        let reads = 0;
        atRead = async () => {
          reads += 1;
          if (reads !== overtaken + 1) return undefined;
          await overtake();
          held.before = await settled();
          return answer;
        };
        const id = await payroll.paid(payFile(payRows(2, next)));
        next += 2;
        await eventually(async () => held.before !== undefined || (await isOver(id)), 15_000);
        await sleep(CONCLUDES_WITHIN_MS);
        if (held.before) expect({ overtaken, ...(await stored()) }).toEqual({ overtaken, ...held.before });
        atRead = undefined;
        await giveBack();
        await eventually(() => isOver(id), 15_000);
        overtaken += 1;
      } while (held.before);
      // The account, the instruction and its payments, before the submit and after it.
      expect(overtaken).toBeGreaterThan(6);
      expect(await payroll.attention()).toEqual([]);
      expect((await payroll.ledger()).payees.every(({ count }) => count === 1)).toBe(true);
    },
    600_000,
  );
});
