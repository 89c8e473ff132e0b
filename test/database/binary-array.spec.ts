import fc from 'fast-check';
import { Client } from 'pg';
import { BinaryArray, binaryArray, Element, ElementType } from '../../src/database/binary-array';
import { TestDatabase, testDatabase } from '../support/database';

let server: TestDatabase;
let client: Client;

beforeAll(async () => {
  server = await testDatabase();
  client = new Client({ connectionString: server.url });
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await server.drop();
});

const ELEMENTS: Record<ElementType, fc.Arbitrary<Element>> = {
  int4: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
  int8: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  text: fc.string({ unit: 'grapheme', maxLength: 300 }).map((text) => text.replaceAll('\0', '')),
  bytea: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes).toString('hex')),
  uuid: fc.uuid(),
};

/** What the server makes of an array, element by element. */
async function read(type: ElementType, array: Buffer): Promise<Element[]> {
  const element = type === 'bytea' ? `encode(element, 'hex')` : 'element::text';
  const { rows } = await client.query<{ element: string | null }>(
    `SELECT ${element} AS element FROM unnest($1::${type}[]) WITH ORDINALITY AS of(element, n) ORDER BY n`,
    [array],
  );
  return rows.map((row) => row.element);
}

describe('an array in binary form', () => {
  it.each(Object.keys(ELEMENTS) as ElementType[])(
    'of %s is read by the server as it was written, one after another',
    async (type) => {
      const array = new BinaryArray(type);
      const elements = fc.array(fc.option(ELEMENTS[type]), { maxLength: 300 });
      await fc.assert(
        fc.asyncProperty(elements, async (written) => {
          for (const element of written) array.add(element);
          const texts = written.map((element) => (element === null ? null : String(element)));
          expect(await read(type, array.take())).toEqual(texts);
          expect(await read(type, binaryArray(type, written))).toEqual(texts);
        }),
      );
    },
  );
});
