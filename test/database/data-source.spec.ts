import { once } from 'node:events';
import { AddressInfo, createServer, Server } from 'node:net';
import { dataSourceOptions, openDataSource } from '../../src/database/data-source';

/** A message of PostgreSQL's protocol. */
function message(type: string, body: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length + 4);
  return Buffer.concat([Buffer.from(type), length, body]);
}

const WELCOME = message('R', Buffer.alloc(4));
const READY = message('Z', Buffer.from('I'));
const ENDED = message('E', Buffer.from('SFATAL\0C57P01\0Mterminating connection\0\0'));

describe('a connection that the server ends in the moment it is made', () => {
  let server: Server;
  beforeEach(async () => {
    server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.end(Buffer.concat([WELCOME, READY, ENDED])));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterEach(() => server.close());

  it('fails whoever asked for it, and not the process', async () => {
    const { port } = server.address() as AddressInfo;
    const url = `postgresql://payrun_app:secret@127.0.0.1:${port}/payrun`;
    await expect(openDataSource(dataSourceOptions(url, [], 1))).rejects.toThrow();
  });
});
