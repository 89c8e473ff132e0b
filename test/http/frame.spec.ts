import { Writable } from 'node:stream';
import { Body, Controller, Get, Param, Post, Query, Res } from '@nestjs/common';
import { NestExpressApplication } from '@nestjs/platform-express';
import { ApiOkResponse } from '@nestjs/swagger';
import { Response } from 'express';
import { LoggerModule } from 'nestjs-pino';
import { createZodDto } from 'nestjs-zod';
import { pino } from 'pino';
import request from 'supertest';
import { z } from 'zod';
import { Allow } from '../../src/http/allow';
import { PageQuery } from '../../src/http/cursor';
import { loggingOptions } from '../../src/http/logging';
import { IdParam, showId } from '../../src/http/prefixed-id';
import { Readiness } from '../../src/http/readiness';
import { httpApp } from './test-app';

const UUID = '01890a5d-ac96-774b-bcce-b302099a8057';

class Page extends createZodDto(
  z.object({ items: z.array(z.string()), nextCursor: z.string().nullable().describe('Of the next page.') }),
) {}

class Thing extends createZodDto(z.object({ amount: z.string().regex(/^\d+\.\d{2}$/) })) {}

@Controller('things')
class Things {
  @Get(':thingId')
  @Allow('finance', 'operator')
  read(@Param('thingId', new IdParam('run')) id: string) {
    return { id };
  }

  @Get()
  @Allow('any')
  @ApiOkResponse({ type: Page })
  list(@Query() query: PageQuery) {
    return query;
  }

  @Post()
  @Allow('preparer')
  make(@Body() body: Thing) {
    return body;
  }

  @Post('broken')
  broken(@Res() response: Response) {
    response.write('half of ');
    throw new Error('lost');
  }
}

describe('what stands before every route', () => {
  let app: NestExpressApplication;
  const get = (path: string) => request(app.getHttpServer()).get(path);

  beforeAll(async () => {
    app = await httpApp({ controllers: [Things] });
  });
  afterAll(() => app.close());

  it('keeps what it answers of the API out of every cache, and nothing else', async () => {
    expect((await get('/v1/employers')).headers['cache-control']).toBe('no-store');
    expect((await get('/healthz')).headers['cache-control']).toBeUndefined();
  });

  it('echoes a request id, and makes one when there is none or an unsafe one', async () => {
    expect((await get('/healthz').set('X-Request-Id', 'abc-1.2:3_4')).headers['x-request-id']).toBe(
      'abc-1.2:3_4',
    );
    for (const unsafe of ['', 'a b', 'x'.repeat(65), '<script>', 'a"b']) {
      const made = (await get('/healthz').set('X-Request-Id', unsafe)).headers['x-request-id'];
      expect(made).toMatch(/^[0-9a-f-]{36}$/);
    }
  });

  it('sends the headers of a hardened service and does not name its framework', async () => {
    const { headers } = await get('/healthz');
    expect(headers['x-powered-by']).toBeUndefined();
    expect(headers['etag']).toBeUndefined();
    expect(headers['x-content-type-options']).toBe('nosniff');
    expect(headers['content-security-policy']).toContain("script-src 'self'");
    expect(headers['content-security-policy']).not.toMatch(/unsafe|upgrade-insecure/);
  });

  it('reads prefixed ids of a route, and answers a malformed one like one that nothing has', async () => {
    expect((await get(`/things/${showId('run', UUID)}`)).body).toEqual({ id: UUID });
    for (const id of [
      UUID,
      showId('pay', UUID),
      'run_',
      `${showId('run', UUID)}0`,
      showId('run', UUID).toUpperCase(),
    ]) {
      const answer = await get(`/things/${id}`);
      expect([answer.status, JSON.parse(answer.text).code]).toEqual([404, 'PAY_RUN_NOT_FOUND']);
    }
  });

  it('cuts an answer that failed half-way instead of ending it as if it were whole', async () => {
    await expect(request(app.getHttpServer()).post('/things/broken')).rejects.toThrow(/aborted|hang up/);
  });

  it('is up as long as the process is, and ready when every check passes', async () => {
    const readiness = app.get(Readiness);
    let working = true;
    readiness.register('database', () =>
      working ? Promise.resolve() : Promise.reject(new Error('secret place')),
    );
    expect((await get('/readyz')).body).toEqual({ status: 'ready', checks: { database: 'ok' } });
    working = false;
    const failing = await get('/readyz');
    expect([failing.status, failing.body]).toEqual([
      503,
      { status: 'not ready', checks: { database: 'failing' } },
    ]);
    expect((await get('/healthz')).body).toEqual({ status: 'up' });
    working = true;
  });

  it('is not ready when a check hangs or throws at once', async () => {
    const readiness = new Readiness();
    readiness.register('throws', () => {
      throw new Error('at once');
    });
    readiness.register('hangs', () => new Promise(() => undefined));
    expect(await readiness.report()).toEqual({
      ready: false,
      checks: { throws: 'failing', hangs: 'failing' },
    });
  });

  it('wants no more requests once it is shutting down', async () => {
    const readiness = new Readiness();
    expect((await readiness.report()).ready).toBe(true);
    readiness.onModuleDestroy();
    expect((await readiness.report()).ready).toBe(false);
  });

  it('measures requests by route template, never by what was in the address', async () => {
    await get(`/things/${showId('run', UUID)}`);
    await get('/nowhere/at/all');
    const answer = await get('/metrics');
    expect(answer.headers['content-type']).toMatch(/^text\/plain/);
    expect(answer.text).toMatch(
      /http_request_duration_seconds_count\{method="GET",route="\/things\/:thingId",status="200"\} \d/,
    );
    expect(answer.text).toContain('route="unmatched"');
    expect(answer.text).not.toContain(UUID.replaceAll('-', ''));
    expect(answer.text).toContain('process_cpu_seconds_total');
  });

  it('describes its routes, with roles, queries and problems, as OpenAPI', async () => {
    const { body } = await get('/openapi.json');
    expect(body.openapi).toBe('3.1.0');
    const read = body.paths['/things/{thingId}'].get;
    expect(read['x-roles']).toEqual(['finance', 'operator']);
    expect(read.security).toEqual([{ bearer: [] }]);
    expect(read.responses.default.content['application/problem+json']).toBeDefined();
    expect(body.paths['/things'].get.parameters.map((parameter: { name: string }) => parameter.name)).toEqual(
      ['limit', 'cursor'],
    );
    const schema = body.paths['/things'].post.requestBody.content['application/json'].schema;
    expect(body.components.schemas[schema.$ref.split('/').at(-1)].properties.amount.type).toBe('string');
    expect(Object.keys(body.paths)).not.toContain('/metrics');
  });

  it('describes a text that may be null as such, and a list as a list', async () => {
    const { body } = await get('/openapi.json');
    const { nextCursor, items } = body.components.schemas.Page.properties;
    expect(nextCursor).toEqual({ type: ['string', 'null'], description: 'Of the next page.' });
    expect(items).toEqual({ type: 'array', items: { type: 'string' } });
  });

  it('shows the description on a page that needs nothing from elsewhere', async () => {
    const page = await get('/docs');
    expect(page.status).toBe(200);
    expect(page.headers['content-security-policy']).toContain("style-src 'self' 'unsafe-inline'");
    expect(page.headers['content-security-policy']).toContain("script-src 'self'");
    expect(page.text).not.toMatch(/(src|href)=["']https?:/);
    expect(page.text).not.toMatch(/<script>[^<]/);
    const scripts = [...page.text.matchAll(/<script src=["']([^"']+)/g)].map(([, src]) => src ?? '');
    expect(scripts.length).toBeGreaterThan(1);
    for (const src of scripts) expect((await get(`/${src.replace('./', '')}`)).status).toBe(200);
  });
});

describe('the log', () => {
  let app: NestExpressApplication;
  let lines: Record<string, unknown>[] = [];
  let texts: string[] = [];
  const sink = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      texts.push(chunk.toString());
      lines.push(JSON.parse(chunk.toString()));
      done();
    },
  });

  beforeAll(async () => {
    const logged = LoggerModule.forRoot({ pinoHttp: [loggingOptions('info'), sink], forRoutes: ['{*path}'] });
    app = await httpApp({ controllers: [Things], imports: [logged] });
  });
  beforeEach(() => {
    lines = [];
    texts = [];
  });
  afterAll(() => app.close());

  it('has one line for a request: id, method, route template, status and duration', async () => {
    await request(app.getHttpServer())
      .get(`/things/${showId('run', UUID)}?iban=FR7630006000011234567890189`)
      .set('X-Request-Id', 'trace-1')
      .set('Authorization', 'Bearer pk_secret');
    const line = lines.find(({ requestId, status }) => requestId === 'trace-1' && status !== undefined);
    expect(line).toMatchObject({
      method: 'GET',
      route: '/things/:thingId',
      status: 200,
      requestId: 'trace-1',
    });
    expect(typeof line?.['durationMs']).toBe('number');
    expect(texts.map((text) => text.split('"requestId"').length - 1)).toEqual([1]);
    expect(JSON.stringify(lines)).not.toMatch(/FR76|pk_secret|iban/);
  });

  it('does not fill with the questions of machines', async () => {
    await request(app.getHttpServer()).get('/healthz');
    expect(lines).toEqual([]);
  });

  it('cuts well-known secret fields out of whatever is logged', () => {
    pino(loggingOptions('info'), sink).info({
      iban: 'FR7630006000011234567890189',
      request: { headers: 'x', authorization: 'y' },
    });
    expect(lines[0]).toMatchObject({
      iban: '[hidden]',
      request: { headers: '[hidden]', authorization: '[hidden]' },
    });
  });

  it('describes a logged error without its values', () => {
    const error = Object.assign(new Error('of FR7630006000011234567890189'), { parameters: ['Jane'] });
    pino(loggingOptions('info'), sink).error({ err: error });
    expect(lines[0]).toMatchObject({ err: { type: 'Error', message: 'of FR…0189' } });
    expect(JSON.stringify(lines)).not.toContain('Jane');
  });
});
