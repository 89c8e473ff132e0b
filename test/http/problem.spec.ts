import { Body, Controller, Get, HttpCode, Post, Query } from '@nestjs/common';
import { NestExpressApplication } from '@nestjs/platform-express';
import { createZodDto } from 'nestjs-zod';
import request from 'supertest';
import { QueryFailedError } from 'typeorm';
import { z } from 'zod';
import { Fenced } from '../../src/database/leases';
import { DatabaseAway, NotDurable } from '../../src/database/outage';
import { DomainError, IllegalTransition } from '../../src/domain/errors';
import { PageQuery } from '../../src/http/cursor';
import { describeError } from '../../src/config/describe-error';
import { Problem } from '../../src/http/problem';
import { httpApp } from './test-app';

const IBAN = 'FR7630006000011234567890189';

class Person extends createZodDto(
  z.strictObject({ name: z.string().min(2), accounts: z.array(z.object({ iban: z.string().length(27) })) }),
) {}

let toThrow: unknown;

@Controller()
class Routes {
  @Get('throw')
  throw(): never {
    throw toThrow;
  }

  @Post('people')
  @HttpCode(200)
  person(@Body() body: Person) {
    return body;
  }

  @Get('list')
  list(@Query() query: PageQuery) {
    return query;
  }
}

function pgError(code: string, fields: Record<string, string> = {}): Error {
  const driver = Object.assign(new Error(`Key (iban)=(${IBAN}) is at fault`), {
    severity: 'ERROR',
    code,
    detail: `Failing row contains (Jane Doe, ${IBAN}, 250000)`,
    ...fields,
  });
  return new QueryFailedError('INSERT INTO payment', ['Jane Doe', IBAN], driver);
}

describe('an error becomes a problem', () => {
  let app: NestExpressApplication;
  const get = async (error: unknown) => {
    toThrow = error;
    return request(app.getHttpServer()).get('/throw?period=2026-09').set('X-Request-Id', 'caller-1');
  };

  beforeAll(async () => {
    app = await httpApp({ controllers: [Routes] });
  });
  afterAll(() => app.close());

  it('tells status, code, detail, place and request id as application/problem+json', async () => {
    const answer = await get(new Problem(412, 'PRECONDITION_FAILED', 'Changed.', { currentETag: '"4"' }));
    expect(answer.status).toBe(412);
    expect(answer.headers['content-type']).toMatch(/^application\/problem\+json/);
    expect(JSON.parse(answer.text)).toEqual({
      type: 'about:blank',
      title: 'Precondition Failed',
      status: 412,
      code: 'PRECONDITION_FAILED',
      detail: 'Changed.',
      instance: '/throw',
      requestId: 'caller-1',
      currentETag: '"4"',
    });
  });

  it('lets no extra member overwrite a standard one', async () => {
    const answer = await get(new Problem(409, 'REAL', 'Real.', { status: 200, code: 'FORGED' }));
    expect(JSON.parse(answer.text)).toMatchObject({ status: 409, code: 'REAL' });
  });

  it.each<[string, unknown, number, string]>([
    ['something missing', new DomainError('PAY_RUN_NOT_FOUND', 'No such run.'), 404, 'PAY_RUN_NOT_FOUND'],
    ['an illegal move', new IllegalTransition('pay_run', 'DRAFT', 'SETTLED'), 409, 'ILLEGAL_TRANSITION'],
    ['a domain code nobody listed', new DomainError('SOMETHING_NEW', 'New.'), 409, 'SOMETHING_NEW'],
    [
      'a domain rule on input',
      new DomainError('PERIOD_INVALID', 'A period is a month.'),
      422,
      'PERIOD_INVALID',
    ],
    [
      'a unique index',
      pgError('23505', { constraint: 'one_live_upload_of_a_file' }),
      409,
      'FILE_ALREADY_UPLOADED',
    ],
    ['a role', pgError('23514', { constraint: 'who_confirms_may' }), 403, 'ROLE_REQUIRED'],
    ['a check', pgError('23514', { constraint: 'approver_is_not_preparer' }), 409, 'APPROVER_IS_PREPARER'],
    [
      'a check only we can break',
      pgError('23514', { constraint: 'ladder_only_climbs' }),
      500,
      'INTERNAL_ERROR',
    ],
    ['a name every object has', pgError('23505', { constraint: 'toString' }), 500, 'INTERNAL_ERROR'],
    ['no violation at all', pgError('42P01', { constraint: 'two_people' }), 500, 'INTERNAL_ERROR'],
    ['a text with NUL', pgError('22021'), 422, 'TEXT_NOT_STORABLE'],
    ['a database shutting down', pgError('57P01'), 503, 'TEMPORARILY_UNAVAILABLE'],
    ['a database connection that failed', pgError('08006'), 503, 'TEMPORARILY_UNAVAILABLE'],
    ['too many connections', pgError('53300'), 503, 'TEMPORARILY_UNAVAILABLE'],
    ['a lock not had in time', pgError('55P03'), 503, 'TEMPORARILY_UNAVAILABLE'],
    ['a session ended while it idled', pgError('25P03'), 503, 'TEMPORARILY_UNAVAILABLE'],
    ['a standby that takes no writes', pgError('25006'), 503, 'TEMPORARILY_UNAVAILABLE'],
    ['a full disk', pgError('58030'), 503, 'TEMPORARILY_UNAVAILABLE'],
    ['a database that is away', new DatabaseAway(new Error('no')), 503, 'TEMPORARILY_UNAVAILABLE'],
    ['a commit without an answer', new NotDurable('the commit was not answered'), 503, 'OUTCOME_UNKNOWN'],
    [
      'a connection refused to somebody else',
      Object.assign(new Error('no'), { code: 'ECONNREFUSED' }),
      500,
      'INTERNAL_ERROR',
    ],
    [
      'a lost lease',
      new Fenced({
        kind: 'RUN',
        subjectId: 's',
        employerId: 'e',
        holder: 'h',
        epoch: '1',
        wokenAt: null,
        missing: null,
      }),
      503,
      'TEMPORARILY_UNAVAILABLE',
    ],
    ['a defect', new TypeError(`cannot read ${IBAN}`), 500, 'INTERNAL_ERROR'],
    [
      'an answer of another system that fails its schema',
      z.string().safeParse(1).error,
      500,
      'INTERNAL_ERROR',
    ],
    ['something thrown that is no error', 'a text', 500, 'INTERNAL_ERROR'],
  ])('%s', async (_, error, status, code) => {
    const answer = await get(error);
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.text)).toMatchObject({ status, code });
    expect(answer.headers['retry-after']).toBe(status === 503 ? '5' : undefined);
    expect(answer.text).not.toContain(IBAN);
  });

  it('says nothing of the inside, and no personal data, whatever the database said', async () => {
    for (const code of ['23505', '23514', '22P02', 'XX000']) {
      const answer = await get(pgError(code, { constraint: 'somewhere', table: 'payment' }));
      expect(answer.text).not.toMatch(/Jane|FR76|250000|payment|somewhere|INSERT|at /);
    }
  });

  it('asks for a key in the way HTTP has for it', async () => {
    expect((await get(new Problem(401, 'NOT_SIGNED_IN', 'Sign in.'))).headers['www-authenticate']).toBe(
      'Bearer',
    );
  });

  it('lists every fault of a body with a pointer to it', async () => {
    const answer = await request(app.getHttpServer())
      .post('/people')
      .send({ name: 'J', accounts: [{ iban: 'x'.repeat(27) }, { iban: 'short' }], 'a/b~c': 1 });
    expect(answer.status).toBe(422);
    const { code, errors } = JSON.parse(answer.text);
    expect(code).toBe('VALIDATION_FAILED');
    expect(errors.map((fault: { pointer: string }) => fault.pointer).sort()).toEqual([
      '#/accounts/1/iban',
      '#/a~1b~0c',
      '#/name',
    ]);
  });

  it('points at faults of a query, and fills in what is left out', async () => {
    const list = (query: string) => request(app.getHttpServer()).get(`/list${query}`);
    expect((await list('')).body).toEqual({ limit: 50 });
    expect((await list('?limit=500&cursor=abc')).body).toEqual({ limit: 500, cursor: 'abc' });
    for (const limit of ['0', '501', '1.5', 'many', '', '0x10', '1e1', '+5', '%205']) {
      const answer = await list(`?limit=${limit}`);
      expect([answer.status, JSON.parse(answer.text).errors[0].pointer]).toEqual([422, '#/limit']);
    }
  });

  it('does not repeat the address of a route that is not there', async () => {
    const answer = await request(app.getHttpServer()).get(`/nowhere?iban=${IBAN}`);
    expect(answer.status).toBe(404);
    expect(JSON.parse(answer.text)).toMatchObject({ code: 'NOT_FOUND', instance: '/nowhere' });
    expect(answer.text).not.toContain(IBAN);
  });

  it('answers an address that cannot be decoded as a fault of the caller', async () => {
    expect((await request(app.getHttpServer()).get('/%FF')).status).toBeLessThan(500);
  });
});

describe('an error in the log', () => {
  it('keeps what the fault is found by, and none of the values', () => {
    const described = describeError(pgError('23505', { constraint: 'payment_pkey', table: 'payment' }));
    expect(described).toMatchObject({ type: 'QueryFailedError', code: '23505', constraint: 'payment_pkey' });
    expect(described.stack).toContain('at ');
    expect(JSON.stringify(described)).not.toMatch(/Jane|FR76|250000/);
  });

  it('masks an IBAN in a message, written with or without spaces', () => {
    const spaced = 'FR76 3000 6000 0112 3456 7890 189';
    expect(describeError(new Error(`refused ${IBAN} today`)).message).toBe('refused FR…0189 today');
    expect(describeError(new Error(`refused ${spaced}`)).message).toBe('refused FR…0189');
  });

  it('leaves out what a JSON parser quotes', () => {
    let failure: unknown;
    try {
      JSON.parse(`{"name": Jane ${IBAN}`);
    } catch (error) {
      failure = error;
    }
    expect(JSON.stringify(describeError(failure))).not.toMatch(/Jane|FR76/);
  });

  it('follows causes, but not for ever', () => {
    const loop: Error = new Error('round');
    loop.cause = loop;
    expect(describeError(loop).cause?.cause?.cause?.cause).toBeUndefined();
  });
});
