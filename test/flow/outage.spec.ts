import type { AxiosResponse } from 'axios';
import { Client } from 'pg';
import { buildWithCrashPoints } from '../support/crash-build';
import { execute, select } from '../support/database';
import { CommitFault, DatabaseProxy } from '../support/database-proxy';
import { OwnServer, startOwnServer } from '../support/own-server';
import { payFile, payRows, Row } from '../support/pay-rows';
import { Payroll, ServiceProcess } from '../support/payroll';

const PER_INSTRUCTION = 3;
const INSTRUCTIONS = 2;
const ROWS = PER_INSTRUCTION * INSTRUCTIONS;

/** As few as a busy machine can keep, nearly in the proportions of the defaults. */
const CONNECT_MS = 1_000;
const STATEMENT_MS = 1_500;
const SETTINGS = {
  DATABASE_CONNECT_MS: String(CONNECT_MS),
  DATABASE_STATEMENT_MS: String(STATEMENT_MS),
  DATABASE_COMMIT_MS: '3000',
  LEASE_MS: '6000',
  SUBMIT_DOUBT_MS: '3000',
  LOG_LEVEL: 'warn',
  PUBLIC_URL: 'http://127.0.0.1:9',
  HOOK_CHECK_MS: '500',
  RECONCILE_MS: '2000',
};
/** Longer than each of them: what ten minutes are to the defaults. */
const AWAY_MS = 8_000;
/** A request waits for the pool, for a connection and its first answer, and for a busy machine. */
const ANSWER_MS = 3 * CONNECT_MS + 8_000;

/** The commits of a run, by what they write. */
const UPLOADED = /INSERT INTO payment /;
const APPROVED = /INSERT INTO "approval"/;
const INITIATE_INTENDED = /INSERT INTO bank_call[^]*initiate/;
const INITIATE_RECORDED = /UPDATE instruction SET bank_instruction_id/;
const ADDS_INTENDED = /INSERT INTO add_intent/;
const ADDS_RECORDED = /UPDATE add_intent SET finished_at[^]*AND batch =/;
const VERIFIED = /UPDATE pay_run SET status[^]*VERIFIED/;
const SUBMIT_INTENDED = /INSERT INTO "submit_attempt"/;
const SUBMIT_RECORDED = /UPDATE submit_attempt SET outcome[^]*instruction_id =/;
const FOLLOWED = /UPDATE bank_payment b SET bank_status/;
const INTENDED = [INITIATE_INTENDED, ADDS_INTENDED, SUBMIT_INTENDED];
const RECORDED = [INITIATE_RECORDED, ADDS_RECORDED, SUBMIT_RECORDED];
const EVERY_COMMIT = [...INTENDED, ...RECORDED, FOLLOWED];

interface Calls {
  initiate: number;
  add: number;
  submit: number;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('while PostgreSQL fails, the service', () => {
  let server: OwnServer;
  let proxy: DatabaseProxy;
  let payroll: Payroll;
  let service: ServiceProcess;
  let next = 1;

  beforeAll(async () => {
    buildWithCrashPoints();
    server = await startOwnServer();
    proxy = await DatabaseProxy.start(server.url);
    payroll = await Payroll.start({
      rowsPerInstruction: PER_INSTRUCTION,
      database: { ...server, url: proxy.through(server.url) },
    });
    await payroll.stopServices();
    service = await payroll.spawn(SETTINGS);
  });
  afterEach(() => proxy.restore());
  afterAll(async () => {
    await payroll.close();
    await proxy.stop();
  });

  const freshRows = (): Row[] => {
    const rows = payRows(ROWS, next);
    next += ROWS;
    return rows;
  };

  /** Asks until the answer is not 503; each 503 comes in time and says when to ask again. */
  async function insist(ask: () => Promise<AxiosResponse>): Promise<AxiosResponse> {
    for (;;) {
      const startedMs = performance.now();
      const answer = await ask();
      if (answer.status !== 503) return answer;
      expect(performance.now() - startedMs).toBeLessThan(ANSWER_MS);
      expect(answer.headers['retry-after']).toMatch(/^\d+$/);
      expect(answer.data.code).toMatch(/^(TEMPORARILY_UNAVAILABLE|OUTCOME_UNKNOWN)$/);
      await pause(100);
    }
  }

  async function begin(rows: readonly Row[]): Promise<string> {
    const terms = { submitAt: payroll.clock.now().toISOString() };
    const uploaded = await insist(() => payroll.upload(payFile(rows), terms));
    expect([uploaded.status, uploaded.data]).toEqual([
      expect.any(Number),
      expect.objectContaining({ id: expect.any(String) }),
    ]);
    // After OUTCOME_UNKNOWN the first one may stand.
    expect([200, 201, 409]).toContain((await insist(() => payroll.approve(uploaded.data))).status);
    return uploaded.data.id;
  }

  /** What the bank was sent. */
  async function posts(): Promise<Calls> {
    const { initiate = 0, add = 0, submit = 0 } = await payroll.calls();
    return { initiate, add, submit };
  }

  /** What is written down as about to be sent. */
  async function intents(): Promise<Calls> {
    const [row] = await select<Calls>(
      server.superuserUrl,
      `SELECT count(*) FILTER (WHERE operation = 'initiate')::int AS initiate,
         count(*) FILTER (WHERE operation = 'submit')::int AS submit,
         (SELECT coalesce(sum(cardinality(row_nos)), 0)::int FROM add_intent) AS add FROM bank_call`,
    );
    return row!;
  }

  /** Runs `story` and answers how many intents more than POSTs it left behind; it never leaves more POSTs. */
  async function unsentOf(story: () => Promise<void>): Promise<Calls> {
    const [sentBefore, meantBefore] = [await posts(), await intents()];
    await story();
    const [sent, meant] = [await posts(), await intents()];
    const left = (operation: keyof Calls) =>
      meant[operation] - meantBefore[operation] - (sent[operation] - sentBefore[operation]);
    return { initiate: left('initiate'), add: left('add'), submit: left('submit') };
  }

  async function allPaidOnce(id: string, rows: readonly Row[]): Promise<void> {
    await payroll.until(id, ['SETTLED'], 25_000);
    const { payees, instructions, entriesSumMinor } = await payroll.ledger();
    const times = new Map(payees.map(({ iban, count }) => [iban, count]));
    expect(rows.map(({ iban }) => times.get(iban))).toEqual(rows.map(() => 1));
    expect(instructions.filter(({ submits }) => submits > 1)).toEqual([]);
    expect(entriesSumMinor).toBe('0');
    expect(await payroll.attention()).toEqual([]);
    expect(service.process.exitCode).toBeNull();
    expect(service.output()).not.toMatch(/unhandled/i);
  }

  const ready = () => payroll.as('finance').get('/readyz', { timeout: ANSWER_MS });
  const measures = async () => String((await payroll.as('finance').get('/metrics')).data);

  /** Everything that is asked gets its answer in time, and once the calls under way have ended the bank is left alone. */
  async function expectAway(): Promise<void> {
    await pause(AWAY_MS / 2);
    expect((await ready()).status).toBe(503);
    expect((await payroll.as('finance').get('/healthz')).status).toBe(200);
    const away = await measures();
    expect(away).toMatch(/^database_up 0$/m);
    expect(away).not.toContain('payrun_runs_open{');
    const askedMs = performance.now();
    const refused = await payroll.as('finance').get(payroll.path(''));
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '5']);
    expect(performance.now() - askedMs).toBeLessThan(ANSWER_MS);
    const sent = await posts();
    await pause(AWAY_MS / 2);
    expect(await posts()).toEqual(sent);
  }

  const NOTHING = { initiate: 0, add: 0, submit: 0 };

  it('waits while the server is silent, and while it refuses, for longer than anything waits, and goes on', async () => {
    const rows = freshRows();
    const silent = proxy.atCommit(ADDS_INTENDED, 'passes').then(() => proxy.hush());
    const begun = begin(rows);
    await silent;
    await expectAway();
    await proxy.restore();
    const refusing = proxy.atCommit(SUBMIT_INTENDED, 'passes').then(() => proxy.refuse());
    await refusing;
    await expectAway();
    await proxy.restore();
    await allPaidOnce(await begun, rows);
    expect((await ready()).status).toBe(200);
    expect(await measures()).toMatch(/^database_up 1$/m);
    const told = service
      .output()
      .split('\n')
      .filter((line) => line.includes('"level":'));
    const away = told.filter((line) => line.includes('work waits until it is back'));
    // Once for each, and not at every attempt; a busy machine may be away for a second besides.
    expect(away.length).toBeGreaterThan(0);
    expect(away.length).toBeLessThan(5);
    expect(told.length).toBeLessThan(30);
    // What was under way when it went may say so, but nothing that began since.
    const ofTicks = told.filter((line) => /not be ensured|not asserted|a tick failed/.test(line));
    expect(ofTicks.length).toBeLessThan(6);
  });

  it.each<[CommitFault, RegExp[], Calls]>([
    ['answer lost', EVERY_COMMIT, { initiate: 1, add: PER_INSTRUCTION, submit: 1 }],
    ['warning', EVERY_COMMIT, { initiate: 1, add: PER_INSTRUCTION, submit: 1 }],
    ['answer hangs', INTENDED, { initiate: 1, add: PER_INSTRUCTION, submit: 1 }],
    ['never arrives', INTENDED, NOTHING],
    ['cut before', [...INTENDED, SUBMIT_RECORDED], NOTHING],
  ])('sends nothing on a COMMIT that met "%s", and pays everybody once', async (fault, moments, unsent) => {
    const rows = freshRows();
    const left = await unsentOf(async () => {
      const hits = moments.map((moment) => proxy.atCommit(moment, fault));
      const id = await begin(rows);
      await allPaidOnce(id, rows);
      await Promise.all(hits);
    });
    expect(left).toEqual(unsent);
  });

  it('goes on after a restart of the server at every step', async () => {
    const rows = freshRows();
    let restarts = Promise.resolve();
    const restartAt = (moment: RegExp) =>
      proxy.atCommit(moment, 'passes').then(() => (restarts = restarts.then(() => server.restart())));
    // A server that is still away is not told what became of an intent: that is then concluded from what the bank shows.
    for (const moment of RECORDED) void restartAt(moment).catch(() => undefined);
    const [id] = await Promise.all([
      begin(rows),
      ...[UPLOADED, APPROVED, VERIFIED, ...INTENDED, FOLLOWED].map(restartAt),
    ]);
    await restarts;
    await allPaidOnce(id, rows);
  });

  it('answers 503 in time while its pool is exhausted from outside, and goes on', async () => {
    const rows = freshRows();
    const outside = new Client({ connectionString: server.superuserUrl });
    await outside.connect();
    const id = await begin(rows);
    await outside.query('BEGIN; LOCK TABLE employer IN ACCESS EXCLUSIVE MODE');
    const asked = await Promise.all(
      Array.from({ length: 60 }, async () => {
        const startedMs = performance.now();
        const answer = await payroll.as('finance').get(payroll.path(''));
        return { answer, ms: performance.now() - startedMs };
      }),
    );
    await outside.query('ROLLBACK');
    await outside.end();
    for (const { answer, ms } of asked) {
      expect([answer.status, answer.headers['retry-after']]).toEqual([503, '5']);
      expect(ms).toBeLessThan(STATEMENT_MS + ANSWER_MS);
    }
    expect((await insist(() => payroll.as('finance').get(payroll.path('')))).status).toBe(200);
    await allPaidOnce(id, rows);
  });

  it('does deadlocks and serialization failures again, or answers 503, and leaves no doubt at the bank', async () => {
    const failing = {
      pay_file: '40001',
      approval: '40P01',
      bank_call: '40P01',
      add_intent: '40001',
      bank_payment: '40P01',
      submit_attempt: '40P01',
    };
    for (const [table, sqlState] of Object.entries(failing))
      await failTwice(server.superuserUrl, table, sqlState);
    const rows = freshRows();
    let id = '';
    const left = await unsentOf(async () => {
      id = await begin(rows);
      await allPaidOnce(id, rows);
    });
    expect(left).toEqual(NOTHING);
    for (const table of Object.keys(failing)) {
      expect(
        await select(server.superuserUrl, `SELECT last_value > 2 AS failed FROM tried_${table}`),
      ).toEqual([{ failed: true }]);
    }
    const { instructions } = await payroll.run(id);
    expect(instructions.map(({ attempt }: { attempt: number }) => attempt)).toEqual([1, 1]);
    const doubted = await select(
      server.superuserUrl,
      `SELECT FROM bank_payment JOIN instruction i ON i.id = instruction_id JOIN pay_run r ON r.id = i.pay_run_id
       WHERE add_outcome <> 'ADDED' AND r.id::text = regexp_replace($1, '^run_(.{8})(.{4})(.{4})(.{4})', '\\1-\\2-\\3-\\4-')`,
      [id],
    );
    expect(doubted).toEqual([]);
  });
});

/** The first two rows written to the table fail as after a deadlock or in a serializable world. */
async function failTwice(url: string, table: string, sqlState: string): Promise<void> {
  await execute(
    url,
    `CREATE SEQUENCE tried_${table};
     CREATE FUNCTION fail_${table}() RETURNS trigger SECURITY DEFINER LANGUAGE plpgsql AS $$ BEGIN
       IF nextval('public.tried_${table}') <= 2 THEN RAISE EXCEPTION 'again' USING ERRCODE = '${sqlState}'; END IF;
       RETURN NEW; END $$;
     CREATE TRIGGER fail_${table} BEFORE INSERT OR UPDATE ON ${table} FOR EACH ROW EXECUTE FUNCTION fail_${table}()`,
  );
}
