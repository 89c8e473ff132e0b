import { createServer, type Server } from 'node:net';
import { portFor } from '../../src/cli/ports';
import { ConfigurationError } from '../../src/config/env';

describe('the port of what npm start starts', () => {
  let taken: Server;
  let port: number;
  beforeAll(async () => {
    taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const address = taken.address();
    port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  });
  afterAll(() => void taken.close());

  it('is the one that is set, whoever else has it', async () => {
    expect(await portFor('PORT', { PORT: String(port) }, [undefined])).toBe(port);
  });

  it.each([{}, { PORT: '' }, { PORT: '0' }])(
    'is a free one where none is set, and never 0: %j',
    async (env) => {
      const free = await portFor('PORT', env, [port]);
      expect(free).toBeGreaterThan(0);
      expect(free).not.toBe(port);
    },
  );

  it.each(['abc', '-1', '65536', '3000.5', '0x10'])('is refused as %s', async (value) => {
    const asked = portFor('SANDBOX_PORT', { SANDBOX_PORT: value }, []);
    await expect(asked).rejects.toThrow(ConfigurationError);
    await expect(asked).rejects.toThrow(/SANDBOX_PORT/);
  });
});
