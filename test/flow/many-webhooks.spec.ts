import { select, testDatabase } from '../support/database';
import { DatabaseProxy } from '../support/database-proxy';
import { payFile, payRows } from '../support/pay-rows';
import { Payroll } from '../support/payroll';

/** More than are under way at once by themselves. */
const EACH = 60;
const COPIES = 3;
const NUMBERS = Array.from({ length: EACH }, (_, n) => n);

let payroll: Payroll;
let proxy: DatabaseProxy | undefined;
afterEach(async () => {
  await payroll.close();
  await proxy?.stop();
  proxy = undefined;
});

/** So many deliveries that name one thing, each with other bytes. */
const deliveries = (event: string, subject: Record<string, unknown>) =>
  NUMBERS.map((n) => JSON.stringify({ id: `of-the-event-${n}`, event, data: subject }));

it('stores many that come at once together, each body once, and tells of each what it is told of one', async () => {
  payroll = await Payroll.start({ hooked: false });
  const id = await payroll.paid(payFile(payRows(2)));
  await payroll.until(id, ['SETTLED']);
  const { superuserUrl } = payroll.database;
  const { instructions } = await payroll.run(id);
  const customerInstructionId = instructions[0]!.bankInstructionId;
  const bodies = [
    ...deliveries('payment_transaction.settled', { customerInstructionId }),
    ...deliveries('payment_transaction.vanished', { customerInstructionId }),
    ...deliveries('account.vanished', { accountId: 'of-somebody-else' }),
  ];
  const copies = Array.from({ length: COPIES }, () => bodies).flat();
  const answers = await Promise.all(copies.map((body) => payroll.deliver(body)));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  expect(
    await select(
      superuserUrl,
      `SELECT event, matched, count(*)::int AS bodies, count(DISTINCT body_hash)::int AS hashes,
         bool_and(body_hash = ANY (SELECT sha256(convert_to(unnest($1::text[]), 'UTF8')))) AS "isOfBody"
       FROM webhook_inbox GROUP BY 1, 2 ORDER BY 1`,
      [bodies],
    ),
  ).toEqual([
    { event: 'account.vanished', matched: 0, bodies: EACH, hashes: EACH, isOfBody: true },
    { event: 'payment_transaction.settled', matched: 1, bodies: EACH, hashes: EACH, isOfBody: true },
    { event: 'payment_transaction.vanished', matched: 1, bodies: EACH, hashes: EACH, isOfBody: true },
  ]);
  const stored = await select(superuserUrl, 'SELECT w::text AS row FROM webhook_inbox w');
  const written = Buffer.from('of-the-event').toString('hex');
  expect(stored.filter(({ row }) => row?.includes(written))).toEqual([]);
  const kept = (table: string) =>
    select(
      superuserUrl,
      `SELECT event, count(*)::int AS bodies, min(times) AS least, max(times) AS most
       FROM ${table} WHERE event <> 'account.created' GROUP BY 1 ORDER BY 1`,
    );
  const times = { bodies: EACH, least: COPIES, most: COPIES };
  expect(await kept('bank_event')).toEqual([
    { event: 'payment_transaction.settled', ...times },
    { event: 'payment_transaction.vanished', ...times },
  ]);
  expect(await kept('installation_event')).toEqual([{ event: 'account.vanished', ...times }]);
  expect((await payroll.attention()).map(({ kind }) => kind)).toEqual(['UNKNOWN_EVENT']);
  const [together] = await select<{ transactions: number }>(
    superuserUrl,
    'SELECT count(DISTINCT xmin::text)::int AS transactions FROM webhook_inbox',
  );
  expect(together!.transactions).toBeLessThan(EACH);
});

it('stores what it can of those that came together where one of them cannot be stored, and counts each once', async () => {
  payroll = await Payroll.start({ hooked: false });
  const { superuserUrl } = payroll.database;
  await select(
    superuserUrl,
    `ALTER TABLE webhook_inbox ADD CONSTRAINT no_poison CHECK (event <> 'account.poison')`,
  );
  const bodies = deliveries('account.vanished', { accountId: 'of-somebody-else' });
  const poison = JSON.stringify({ id: '1', event: 'account.poison', data: {} });
  const answers = await Promise.all([...bodies, poison, ...bodies].map((body) => payroll.deliver(body)));
  const refused = answers.flatMap(({ status }, n) => (status === 200 ? [] : [{ n, status }]));
  expect(refused).toEqual([{ n: EACH, status: 500 }]);
  expect(await payroll.inbox()).toHaveLength(EACH);
  const told =
    'SELECT event, min(times) AS least, max(times) AS most FROM installation_event GROUP BY 1 ORDER BY 1';
  expect(await select(superuserUrl, told)).toEqual([
    { event: 'account.poison', least: 1, most: 1 },
    { event: 'account.vanished', least: 2, most: 2 },
  ]);
});

it('answers those that came together with 503 together where commits hang, and stores them the next time', async () => {
  const COMMIT_MS = 4_000;
  const database = await testDatabase();
  proxy = await DatabaseProxy.start(database.url);
  payroll = await Payroll.start({
    hooked: false,
    database: { ...database, url: proxy.through(database.url) },
    settings: { DATABASE_COMMIT_MS: String(COMMIT_MS) },
  });
  const bodies = deliveries('account.vanished', { accountId: 'of-somebody-else' }).slice(0, 10);
  for (const _ of bodies) void proxy.atCommit(/INSERT INTO webhook_inbox/, 'answer hangs');
  const startedMs = performance.now();
  const answers = await Promise.all(bodies.map((body) => payroll.deliver(body)));
  expect(performance.now() - startedMs).toBeLessThan((bodies.length / 2) * COMMIT_MS);
  expect(answers.map(({ status, data }) => [status, data.code])).toEqual(
    bodies.map(() => [503, 'OUTCOME_UNKNOWN']),
  );
  await proxy.restore();
  for (const body of bodies) expect((await payroll.deliver(body)).status).toBe(200);
  expect(await payroll.inbox()).toHaveLength(bodies.length);
});
