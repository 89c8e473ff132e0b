import { once } from 'node:events';
import { connect } from 'node:net';
import { buildWithCrashPoints } from '../support/crash-build';
import { eventually, Payroll, ServiceProcess } from '../support/payroll';

/** Ten seconds for what is under way, and two for a busy machine. */
const STOPPED_MS = 12_000;
const LONG_MS = '60000';

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

  it('is gone within twelve seconds while the bank hangs and a request is never sent to its end', async () => {
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

  it('is gone at once where nothing is under way', async () => {
    expect(await stops(await payroll.spawn())).toBeLessThan(STOPPED_MS / 2);
  });
});
