import { DataSource } from 'typeorm';
import { BankRate, requestsPerMinute } from '../../src/database/bank-rate';
import { Database } from '../../src/database/database';
import { dataSourceOptions, openDataSource } from '../../src/database/data-source';
import { paceOf } from '../../src/domain/request-pace';
import { execute, TestDatabase, testDatabase } from '../support/database';

const ONE_TURN = { turns: 1, maxWaitMs: 120_000, urgent: false };

let server: TestDatabase;
let sources: DataSource[];
let rates: BankRate[];

beforeAll(async () => {
  server = await testDatabase();
  sources = await Promise.all([1, 2].map(() => openDataSource(dataSourceOptions(server.url, [], 4))));
  rates = sources.map((source) => new BankRate(new Database(source)));
});
afterAll(async () => {
  await Promise.all(sources.map((source) => source.destroy()));
  await server.drop();
});
beforeEach(() =>
  execute(
    server.superuserUrl,
    'UPDATE bank_rate SET learned_per_minute = NULL, learned_at = NULL, next_due_at = now(), paused_until = now()',
  ),
);

async function inMs(rate: BankRate, configured: number | undefined, request = ONE_TURN): Promise<number> {
  const { turns } = await rate.reserve(configured, request);
  if (turns.kind === 'refused') throw new Error(`refused for ${turns.waitMs} ms`);
  return turns.inMs;
}

describe('the rate that replicas share in the database', () => {
  it('gives every turn once, however many ask at the same time', async () => {
    const { intervalMs } = paceOf(600);
    const began = Date.now();
    const waits: number[] = [];
    const due = await Promise.all(
      Array.from({ length: 40 }, async (_none, n) => {
        const wait = await inMs(rates[n % 2]!, 600, { ...ONE_TURN, turns: 2 });
        waits.push(wait);
        return Date.now() - began + wait;
      }),
    );
    // Of the first, how late its answer came says nothing.
    expect(Math.max(...due) - Math.min(...waits)).toBeGreaterThan(78 * intervalMs - 500);
    const next = await inMs(rates[0]!, 600);
    expect(next + Date.now() - began).toBeGreaterThan(80 * intervalMs - 500);
  });

  it('takes nothing where the turn is too far away', async () => {
    await inMs(rates[0]!, 60, { ...ONE_TURN, turns: 10 });
    const asked = { ...ONE_TURN, maxWaitMs: 1_000 };
    const { turns } = await rates[1]!.reserve(60, asked);
    expect(turns).toMatchObject({ kind: 'refused' });
    expect(await inMs(rates[1]!, 60)).toBeLessThanOrEqual(10 * paceOf(60).intervalMs);
  });

  it('makes all outlast a pause, and does not shorten it', async () => {
    await rates[0]!.pause(30_000);
    await rates[1]!.pause(1_000);
    for (const configured of [600, undefined]) {
      const wait = await inMs(rates[1]!, configured);
      expect(wait).toBeGreaterThan(25_000);
      expect(wait).toBeLessThanOrEqual(30_200);
    }
  });

  it('paces all by the configured limit, and by the lowest the bank named where there is none', async () => {
    await rates[0]!.learn(120);
    await rates[0]!.learn(60);
    await rates[0]!.learn(300);
    const answers = await Promise.all([600, 30, undefined].map((n) => rates[1]!.reserve(n, ONE_TURN)));
    expect(answers.map(({ perMinute }) => perMinute)).toEqual([600, 30, 60]);
    const seen = await new Database(sources[1]!).outsideEmployers((tx) => requestsPerMinute(tx, undefined));
    expect(seen).toBe(60);
  });

  it('forgets a limit that was not named for a day, and learns a higher one then', async () => {
    await rates[0]!.learn(60);
    await execute(server.superuserUrl, `UPDATE bank_rate SET learned_at = now() - interval '25 hours'`);
    expect((await rates[1]!.reserve(undefined, ONE_TURN)).perMinute).toBeUndefined();
    await rates[1]!.learn(300);
    expect((await rates[0]!.reserve(undefined, ONE_TURN)).perMinute).toBe(300);
  });

  it('outlasts a clock that was set back, by a minute at most', async () => {
    for (const ahead of ['next_due_at', 'paused_until'])
      await execute(server.superuserUrl, `UPDATE bank_rate SET ${ahead} = now() + interval '61 minutes'`);
    expect(await inMs(rates[0]!, 600)).toBeLessThanOrEqual(60_000);
    expect(await inMs(rates[1]!, 600)).toBeLessThanOrEqual(60_000 + paceOf(600).intervalMs);
    await rates[0]!.pause(90_000);
    expect(await inMs(rates[1]!, 600)).toBeLessThanOrEqual(90_000);
  });

  it('does not take what was reserved, or asked for, at the most for a clock that was set back', async () => {
    await inMs(rates[0]!, 2, { ...ONE_TURN, turns: 2 });
    expect(await inMs(rates[1]!, 2)).toBeGreaterThan(115_000);
    expect((await rates[0]!.reserve(2, ONE_TURN)).turns).toMatchObject({ kind: 'refused' });
    await rates[0]!.pause(3_600_000);
    const { turns } = await rates[1]!.reserve(600, ONE_TURN);
    expect(turns).toMatchObject({ kind: 'refused', waitMs: expect.any(Number) });
    expect(turns.kind === 'refused' && turns.waitMs).toBeGreaterThan(3_590_000);
  });

  it('fails rather than guesses when its row is gone', async () => {
    await execute(server.superuserUrl, 'DELETE FROM bank_rate');
    await expect(rates[0]!.reserve(600, ONE_TURN)).rejects.toThrow('bank_rate');
    await execute(server.superuserUrl, 'INSERT INTO bank_rate DEFAULT VALUES');
  });
});
