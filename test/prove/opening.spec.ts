import axios from 'axios';
import { Proxy } from '../../prove/real/proxy';
import { Stand } from '../../prove/real/stand';
import { startSandbox } from '../../src/bank-sandbox/sandbox';
import { buildWithCrashPoints } from '../support/crash-build';
import { freePort, Payroll } from '../support/payroll';

const TAKEN = new Error('the port is taken');

describe('the opening of a stand', () => {
  beforeAll(buildWithCrashPoints);
  afterEach(() => jest.restoreAllMocks());

  const proxies = () => {
    const started = jest.spyOn(Proxy, 'start');
    return () => Promise.all(started.mock.results.map(({ value }) => value as Promise<Proxy>));
  };
  const codeOf = (url: string) => axios.get(url).catch(({ code }: { code?: string }) => code);

  it('is tried again where a port was taken meanwhile, and ends what it had begun', async () => {
    const opened = proxies();
    jest.spyOn(Payroll, 'start').mockRejectedValueOnce(TAKEN);
    const stand = await Stand.open();
    try {
      const [first] = await opened();
      expect(await codeOf(first!.url)).toBe('ECONNREFUSED');
      expect((await stand.payroll.as('finance').get('/v1/me')).status).toBe(200);
    } finally {
      await stand.close();
    }
  });

  it('fails with what the third of three failed with', async () => {
    const opened = proxies();
    const start = jest.spyOn(Payroll, 'start').mockRejectedValue(TAKEN);
    await expect(Stand.open()).rejects.toBe(TAKEN);
    expect(start).toHaveBeenCalledTimes(3);
    for (const { url } of await opened()) expect(await codeOf(url)).toBe('ECONNREFUSED');
  });

  it('leaves no bank behind whose service did not start', async () => {
    const port = await freePort();
    await expect(Payroll.start({ sandbox: { port }, settings: { TICK_MS: 'soon' } })).rejects.toThrow();
    await (await startSandbox({ port })).close();
  });
});
