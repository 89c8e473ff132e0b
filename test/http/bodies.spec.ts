import { Body, Controller, Post, Req } from '@nestjs/common';
import { NestExpressApplication } from '@nestjs/platform-express';
import { Request } from 'express';
import { createZodDto } from 'nestjs-zod';
import request from 'supertest';
import { z } from 'zod';
import { httpApp } from './test-app';

class Named extends createZodDto(z.strictObject({ name: z.string() })) {}

@Controller()
class Routes {
  @Post('webhooks/bank')
  webhook(@Req() { body }: Request) {
    return { buffer: Buffer.isBuffer(body), text: Buffer.isBuffer(body) ? body.toString('latin1') : null };
  }

  @Post('v1/employers/:employerId/pay-files')
  async upload(@Req() stream: Request) {
    let bytes = 0;
    for await (const chunk of stream) bytes += (chunk as Buffer).length;
    return { parsed: stream.body !== undefined, bytes };
  }

  @Post('named')
  named(@Body() body: Named) {
    return body;
  }

  @Post('json')
  json(@Req() { body }: Request) {
    return { body };
  }
}

describe('bodies', () => {
  let app: NestExpressApplication;
  const post = (path: string) => request(app.getHttpServer()).post(path);

  beforeAll(async () => {
    app = await httpApp({ controllers: [Routes] });
  });
  afterAll(() => app.close());

  it('keeps the bytes of a webhook as they were signed, whatever their type', async () => {
    const body = '{ "a":1.00,  "b":"é" }';
    for (const type of ['application/json', 'text/plain']) {
      const answer = await post('/webhooks/bank').set('Content-Type', type).send(body);
      expect(answer.body).toEqual({ buffer: true, text: Buffer.from(body).toString('latin1') });
    }
  });

  it('refuses a webhook of more than 256 KiB', async () => {
    const answer = await post('/webhooks/bank')
      .set('Content-Type', 'application/json')
      .send('x'.repeat(262_145));
    expect([answer.status, JSON.parse(answer.text).code]).toEqual([413, 'BODY_TOO_LARGE']);
  });

  it.each(['text/csv', 'multipart/form-data; boundary=x', 'application/octet-stream'])(
    'leaves an upload of %s to its route, however large',
    async (type) => {
      const file = 'x'.repeat(3_000_000);
      const answer = await post('/v1/employers/emp_1/pay-files').set('Content-Type', type).send(file);
      expect(answer.body).toEqual({ parsed: false, bytes: file.length });
    },
  );

  it('parses JSON of up to 1 MiB', async () => {
    const largest = JSON.stringify({ text: 'x'.repeat(1_048_576 - 11) });
    const send = (text: string) => post('/json').set('Content-Type', 'application/json').send(text);
    expect((await send(largest)).status).toBe(201);
    const answer = await send(`${largest} `);
    expect([answer.status, JSON.parse(answer.text).code]).toEqual([413, 'BODY_TOO_LARGE']);
  });

  it('refuses broken JSON without quoting it', async () => {
    const answer = await post('/json').set('Content-Type', 'application/json').send('{"name": Jane}');
    expect([answer.status, JSON.parse(answer.text).code]).toEqual([400, 'JSON_INVALID']);
    expect(answer.text).not.toContain('Jane');
  });

  it.each(['{"a":"\\u0000"}', '{"a":["\\ud800x"]}', '{"\\u0000":1}'])(
    'refuses the JSON %s, which holds what no text of the database can',
    async (body) => {
      const answer = await post('/json').set('Content-Type', 'application/json').send(body);
      expect([answer.status, JSON.parse(answer.text).code]).toEqual([400, 'JSON_INVALID']);
    },
  );

  it('parses a pair of surrogates', async () => {
    const answer = await post('/json').set('Content-Type', 'application/json').send('{"a":"\\ud83e\\udd80"}');
    expect(answer.body).toEqual({ body: { a: '🦀' } });
  });

  it.each(['application/x-www-form-urlencoded', 'text/plain', 'text/csv', undefined])(
    'says of a body of another type what it is to be: %s',
    async (type) => {
      const sent = post('/named').set('Content-Length', '14');
      if (type !== undefined) sent.set('Content-Type', type);
      sent.write('{"name":"Jo"}\n');
      const answer = await sent;
      const { status, code, detail } = JSON.parse(answer.text);
      expect([status, code]).toEqual([415, 'BODY_NOT_JSON']);
      expect(detail).toContain('Content-Type: application/json');
    },
  );

  it('says of a body that is not there that it is missing', async () => {
    const answer = await post('/named');
    expect([answer.status, JSON.parse(answer.text).code]).toEqual([422, 'VALIDATION_FAILED']);
  });

  it('refuses an encoding it does not know', async () => {
    const answer = await post('/json')
      .set('Content-Type', 'application/json')
      .set('Content-Encoding', 'lzma')
      .send('{}');
    expect([answer.status, JSON.parse(answer.text).code]).toEqual([415, 'ENCODING_UNSUPPORTED']);
  });
});
