import { once } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { buildWithCrashPoints } from '../support/crash-build';
import { select } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { eventually } from '../support/eventually';
import { Payroll, ServiceProcess } from '../support/payroll';

/** Ten seconds are what the service gives what is under way; the others are the test's, to end and to be seen ended on a busy machine. */
const STOPPED_MS = 20_000;
/** Less than those ten. */
const AT_ONCE_MS = 8_000;
const LONG_MS = '60000';

const isAdd = ({ method, url }: IncomingMessage) =>
  method === 'POST' && url?.endsWith('/payment-transactions');

describe('a service that is told to stop', () => {
  let payroll: Payroll;

  beforeAll(async () => {
    buildWithCrashPoints();
    payroll = await Payroll.start();
    await payroll.stopServices();
  });
  afterAll(() => payroll.close());

  const stops = async (service: ServiceProcess): Promise<number> => {
    const askedMs = performance.now();
    service.process.kill('SIGTERM');
    await service.ended;
    return performance.now() - askedMs;
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
    const service = await payroll.spawn({
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
    const service = await payroll.spawn({ BANK_TIMEOUT_MS: LONG_MS });
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
      const service = await payroll.spawn({ BANK_TIMEOUT_MS: LONG_MS });
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

  it('is gone at once where nothing is under way', async () => {
    expect(await stops(await payroll.spawn())).toBeLessThan(AT_ONCE_MS);
  });
});
