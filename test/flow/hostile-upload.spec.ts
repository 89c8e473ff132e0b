import { Agent, request } from 'node:http';
import { Readable } from 'node:stream';
import { buildWithCrashPoints } from '../support/crash-build';
import { select } from '../support/database';
import { payFile, payRows } from '../support/pay-rows';
import { Payroll, type ServiceProcess } from '../support/payroll';

const HEADER = 'employee_id,name,iban,bic,amount,currency,remittance';
const IBAN = 'DE89370400440532013000';
const MB = 1_000_000;
/** Of a service that does nothing but these uploads; twelve large files at once are among them. */
const MAX_RESIDENT_BYTES = 250 * MB;

describe('what nobody should upload', () => {
  let payroll: Payroll;
  let service: ServiceProcess;
  beforeAll(async () => {
    buildWithCrashPoints();
    payroll = await Payroll.start();
    await payroll.stopServices();
    service = await payroll.spawn();
  });
  afterAll(() => payroll.close());

  const residentBytes = async () => {
    const metrics = String((await payroll.as('finance').get('/metrics')).data);
    return Number(/^process_resident_memory_bytes (\d+)$/m.exec(metrics)?.[1]);
  };
  const stored = async () => {
    const [row] = await select<{ runs: number; files: number; payments: number }>(
      payroll.database.superuserUrl,
      `SELECT (SELECT count(*)::int FROM pay_run) AS runs, (SELECT count(*)::int FROM pay_file) AS files,
         (SELECT count(*)::int FROM payment) AS payments`,
    );
    return row;
  };
  const answerTo = (
    body: Readable,
    headers: Record<string, string>,
  ): Promise<{ status: number; code: string }> =>
    new Promise((resolve, reject) => {
      // Kept alive: a connection that is closed with its answer loses it where more was being sent. And a new one: an idle
      // one may have been closed while the files were made.
      const agent = new Agent({ keepAlive: true });
      const query = `period=${payroll.executionDate().slice(0, 7)}&executionDate=${payroll.executionDate()}`;
      const sent = request(
        `${service.url}/v1/employers/${payroll.employer}/pay-files?${query}`,
        {
          method: 'POST',
          agent,
          headers: { authorization: `Bearer ${payroll.keys.preparer}`, ...headers },
        },
        (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (part: string) => (text += part));
          response.on('end', () => {
            body.destroy();
            agent.destroy();
            resolve({ status: response.statusCode ?? 0, code: String(JSON.parse(text || '{}').code) });
          });
        },
      );
      // What is answered before all of it was sent may also be cut off: only an answer counts.
      sent.on('error', (error: NodeJS.ErrnoException) => {
        if (!['EPIPE', 'ECONNRESET'].includes(error.code ?? '')) reject(error);
      });
      sent.on('close', () => reject(new Error('the connection ended without an answer')));
      body.on('error', () => undefined);
      body.pipe(sent);
    });
  const csv = (body: string | Readable) =>
    answerTo(typeof body === 'string' ? Readable.from([body]) : body, { 'content-type': 'text/csv' });
  const repeated = (text: string, times: number) =>
    Readable.from(
      (function* () {
        const part = Buffer.from(text.repeat(Math.ceil(MB / text.length)));
        for (let sent = 0; sent < text.length * times; sent += part.length) yield part;
      })(),
    );
  const faultsOf = async (body: string) => {
    const { status, data } = await payroll.upload(body);
    expect(status).toBe(422);
    return (data.faults as { column: string | null; code: string }[]).map(({ column, code }) => [
      column,
      code,
    ]);
  };
  const row = (name: string, id = 'E1') => `${id},${name},${IBAN},,10.00,EUR,`;

  it.each<[string, () => string | Readable, number, string]>([
    ['a line of a gigabyte', () => repeated('x', 1_000 * MB), 413, 'PAY_FILE_TOO_LARGE'],
    ['a line of a fifth of it', () => repeated('x', 200 * MB), 422, 'PAY_FILE_REFUSED'],
    ['a quote that never closes', () => `${HEADER}\nE1,"${'x\n'.repeat(MB)}`, 422, 'PAY_FILE_REFUSED'],
    ['quotes where none can be', () => `${HEADER}\nE1,a"b"c,"x"y,,1,EUR,\n`, 422, 'PAY_FILE_REFUSED'],
    ['a million columns', () => `${'a,'.repeat(MB)}b\n`, 422, 'PAY_FILE_REFUSED'],
    ['a million columns in a row', () => `${HEADER}\n${','.repeat(MB)}\n`, 422, 'PAY_FILE_REFUSED'],
    ['a million empty lines', () => '\n'.repeat(MB), 422, 'PAY_FILE_REFUSED'],
    ['nothing but NUL', () => '\0'.repeat(MB), 422, 'PAY_FILE_REFUSED'],
  ])('%s is refused', async (_, body, status, code) => {
    expect(await csv(body())).toEqual({ status, code });
    expect(await stored()).toEqual({ runs: 0, files: 0, payments: 0 });
  });

  it('a header twice, or one that means something to the language this is written in, is a fault of the header', async () => {
    expect(await faultsOf(`${HEADER},iban\n${row('A')},${IBAN}\n`)).toContainEqual(['iban', 'COLUMN_TWICE']);
    for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty'])
      expect(await faultsOf(`${HEADER},${name}\n${row('A')},x\n`)).toEqual([[name, 'COLUMN_UNKNOWN']]);
  });

  it.each([
    "=cmd|'/C calc'!A0",
    '@SUM(1+1)',
    'Robert; DROP TABLE payment',
    '<script>alert(1)</script>',
    '$(rm -rf .)',
    '`id`',
    'A\u200bB',
    'A\u202eB',
    'Аnna',
    'A\u0007B',
  ])('the name %j is a fault of its cell, and is sent nowhere', async (name) => {
    expect(await faultsOf(`${HEADER}\n${row(name)}\n`)).toEqual([['name', 'NAME_CHARACTERS']]);
    expect(await stored()).toEqual({ runs: 0, files: 0, payments: 0 });
  });

  it('a form of ten thousand parts, or with two files, is refused', async () => {
    const parts = Array.from(
      { length: 10_000 },
      (_, n) => `--b\r\nContent-Disposition: form-data; name="f${n}"\r\n\r\n\r\n`,
    );
    const form = { 'content-type': 'multipart/form-data; boundary=b' };
    const file = (name: string) =>
      `--b\r\nContent-Disposition: form-data; name="${name}"; filename="f.csv"\r\n\r\n${HEADER}\n${row('A')}\n\r\n`;
    const malformed = { status: 400, code: 'FORM_MALFORMED' };
    expect(await answerTo(Readable.from([...parts, '--b--\r\n']), form)).toEqual(malformed);
    expect(await answerTo(Readable.from([file('a'), file('b'), '--b--\r\n']), form)).toEqual(malformed);
  });

  it('a file that unpacks to more than it is is not unpacked', async () => {
    const packed = { 'content-type': 'text/csv', 'content-encoding': 'gzip' };
    const answer = await answerTo(Readable.from([Buffer.from('1f8b', 'hex')]), packed);
    expect(answer).toEqual({ status: 415, code: 'ENCODING_UNSUPPORTED' });
  });

  it('an upload that breaks off leaves nothing', async () => {
    const content = payFile(payRows(2_000));
    await new Promise<void>((resolve) => {
      const sent = request(`${service.url}/v1/employers/${payroll.employer}/pay-files`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${payroll.keys.preparer}`,
          'content-type': 'text/csv',
          'content-length': String(2 * content.length),
        },
      });
      sent.on('error', () => undefined).on('close', () => resolve());
      sent.write(content, () => sent.destroy());
    });
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(await stored()).toEqual({ runs: 0, files: 0, payments: 0 });
  });

  it('a file name is a name, whatever it holds', async () => {
    const fileName = '../../etc/cron.d/x\r\nSet-Cookie: a=b"; filename="y.csv';
    const { status, data } = await payroll.upload(payFile(payRows(1)), { fileName });
    expect(status).toBe(201);
    const answer = await payroll.as('finance').get(payroll.path(`/pay-files/${data.file.id}/content`));
    expect(answer.status).toBe(200);
    expect(answer.headers['set-cookie']).toBeUndefined();
    expect(answer.headers['content-disposition']).not.toMatch(/[\r\n/]|\.\./);
  });

  it('twelve large files at once each get an answer, and all of this takes no more memory than one upload', async () => {
    const files = Array.from({ length: 12 }, (_, n) => payFile(payRows(16_000, 10 + n * 16_000)));
    let answered = false;
    // As it is told, on a machine so busy that the database cannot be waited for.
    const upload = async (content: string): ReturnType<typeof csv> => {
      const answer = await csv(content);
      return answer.status === 503 ? upload(content) : answer;
    };
    const uploads = Promise.all(files.map(upload)).finally(() => (answered = true));
    // Ten of them had every connection to the database, and nobody else was answered.
    const others: number[] = [];
    while (!answered) {
      others.push((await payroll.as('approver').get('/v1/me')).status);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    expect((await uploads).map(({ status }) => status)).toEqual(files.map(() => 201));
    expect([200, 503]).toEqual(expect.arrayContaining([...new Set(others)]));
    expect(others.filter((status) => status === 200).length).toBeGreaterThan(others.length / 2);
    expect(await residentBytes()).toBeLessThan(MAX_RESIDENT_BYTES);
  }, 900_000);
});
