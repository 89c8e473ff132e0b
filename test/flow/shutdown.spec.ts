import { once } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { buildWithCrashPoints } from '../support/crash-build';
import { select } from '../support/database';
import { DatabaseProxy } from '../support/database-proxy';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll, ServiceProcess } from '../support/payroll';

/** Ten seconds for what is under way, by the service's own clock, and what a busy machine takes to close. */
const STOPPED_MS = 12_000;
/** Less than those ten. */
const AT_ONCE_MS = 8_000;
/** As a test sees it, on a busy machine. */
const GONE_MS = 20_000;
const LONG_MS = '60000';

const isAdd = ({ method, url }: IncomingMessage) =>
  method === 'POST' && url?.endsWith('/payment-transactions');

describe('a service that is told to stop', () => {
  let payroll: Payroll;
  let proxy: DatabaseProxy | undefined;

  beforeAll(async () => {
    buildWithCrashPoints();
    payroll = await Payroll.start();
    await payroll.stopServices();
  });
  afterEach(() => proxy?.stop());
  afterAll(() => payroll.close());

  const spawned = (settings: Record<string, string> = {}) =>
    payroll.spawn({ LOG_LEVEL: 'info', ...settings });

  /** Ends it, and answers how long that took by its own log: from the signal to the last that it said. */
  const stops = async (service: ServiceProcess): Promise<number> => {
    const askedMs = performance.now();
    const gone = once(service.process, 'close');
    service.process.kill('SIGTERM');
    await gone;
    expect(performance.now() - askedMs).toBeLessThan(GONE_MS);
    const said = service
      .output()
      .split('\n')
      .filter((line) => line.includes('"context":"Shutdown"'));
    const [told, ended] = said.map((line): { time: number } => JSON.parse(line));
    expect(said).toHaveLength(2);
    return ended!.time - told!.time;
  };

  /** A request whose client sends no more. */
  const halfSent = async (url: string) => {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    socket.on('error', () => undefined).resume();
    socket.write('POST /webhooks/bank HTTP/1.1\r\nHost: here\r\nContent-Length: 10\r\n\r\nab');
    return socket;
  };

  it('gives what is under way ten seconds and is gone while the bank hangs and a request is never sent to its end', async () => {
    await payroll.fault({ operation: 'listHooks', kind: 'hang-before' });
    const service = await spawned({
      PUBLIC_URL: 'http://127.0.0.1:9',
      HOOK_CHECK_MS: '500',
      BANK_TIMEOUT_MS: LONG_MS,
    });
    await eventually(async () => (await payroll.faults()).some(({ hits }) => hits > 0), 10_000);
    const socket = await halfSent(service.url);
    expect(await stops(service)).toBeLessThan(STOPPED_MS);
    socket.destroy();
    await payroll.clearFaults();
  });

  it('is told so as well when what started it is gone', async () => {
    const { process: child, ended } = await payroll.spawn();
    expect(child.connected).toBe(true);
    child.disconnect();
    await ended;
  });

  const struck = () => eventually(async () => (await payroll.faults()).every(({ hits }) => hits > 0), 20_000);

  /** Has the bank keep its next answer to an add until that is released. */
  const holdsAnAdd = () => {
    const { end } = ServerResponse.prototype;
    let answer: (() => void) | undefined;
    const ends = jest.spyOn(ServerResponse.prototype, 'end').mockImplementation(function (
      this: ServerResponse,
      ...body: unknown[]
    ) {
      const send = () => end.apply(this, body as Parameters<typeof end>);
      if (answer !== undefined || !isAdd(this.req)) return send();
      answer = send;
      return this;
    } as typeof end);
    const release = () => {
      ends.mockRestore();
      answer!();
    };
    return { isHeld: () => answer !== undefined, release };
  };

  const paidOnce = async (id: string, rows: ReturnType<typeof payRows>) => {
    await payroll.until(id, ['SETTLED'], 30_000);
    const { payees } = await payroll.ledger();
    const times = new Map(payees.map(({ iban, count }) => [iban, count]));
    expect(rows.map(({ iban }) => times.get(iban))).toEqual(rows.map(() => 1));
    expect(await payroll.attention()).toEqual([]);
  };

  it('waits for the answers to what it has sent and writes them down, so that nothing is left in doubt', async () => {
    const service = await spawned({ BANK_TIMEOUT_MS: LONG_MS });
    const held = holdsAnAdd();
    const rows = payRows(6);
    const id = await payroll.paid(payFile(rows));
    await eventually(held.isHeld, 20_000);
    const stopped = stops(service);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    held.release();
    expect(await stopped).toBeLessThan(STOPPED_MS);
    const outcomes = await select<{ outcome: string }>(
      payroll.database.superuserUrl,
      `SELECT DISTINCT add_outcome AS outcome FROM bank_payment`,
    );
    expect(outcomes).toEqual([{ outcome: 'ADDED' }]);
    await payroll.spawn();
    await paidOnce(id, rows);
    const { instructions } = await payroll.run(id);
    expect(instructions.map(({ attempt }: { attempt: number }) => attempt)).toEqual([1]);
  });

  it.each(['add', 'submit'])(
    'gives what is under way ten seconds and is gone while the bank hangs at the %s of a run, which another one ends',
    async (operation) => {
      await payroll.endProcesses();
      const service = await spawned({ BANK_TIMEOUT_MS: LONG_MS });
      await payroll.fault({ operation, kind: 'hang', nth: 1 });
      const rows = payRows(3, operation === 'add' ? 10 : 20);
      const id = await payroll.paid(payFile(rows));
      await struck();
      expect(await stops(service)).toBeLessThan(STOPPED_MS);
      await payroll.clearFaults();
      await payroll.spawn();
      await paidOnce(id, rows);
    },
  );

  it.each<[string, (database: DatabaseProxy) => void | Promise<void>]>([
    ['is silent', (database) => database.hush()],
    ['refuses', (database) => database.refuse()],
  ])(
    'is gone in the same time where PostgreSQL %s when it is told so in the middle of a run, which another one ends',
    async (how, fails) => {
      await payroll.endProcesses();
      proxy = await DatabaseProxy.start(payroll.database.url);
      const service = await spawned({ DATABASE_URL: proxy.through(payroll.database.url) });
      await payroll.fault({ operation: 'add', kind: 'hang', nth: 1 });
      const rows = payRows(3, how === 'refuses' ? 30 : 40);
      const id = await payroll.paid(payFile(rows));
      await struck();
      await fails(proxy);
      expect(await stops(service)).toBeLessThan(STOPPED_MS);
      await payroll.clearFaults();
      await payroll.spawn();
      await paidOnce(id, rows);
    },
  );

  it('is gone at once where nothing is under way', async () => {
    expect(await stops(await spawned())).toBeLessThan(AT_ONCE_MS);
  });
});
