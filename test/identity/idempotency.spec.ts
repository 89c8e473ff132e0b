import { Body, Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import { Request, Response } from 'express';
import request from 'supertest';
import { DatabaseAway, NotDurable } from '../../src/database/outage';
import { Allow } from '../../src/http/allow';
import { showId } from '../../src/http/prefixed-id';
import { Problem } from '../../src/http/problem';
import { CarriedOutOnce, SkipIdempotency } from '../../src/identity/idempotency.interceptor';
import { IdempotencyKeys } from '../../src/identity/idempotency-keys';
import { IdentityModule } from '../../src/identity/identity.module';
import { identityApp, makeEmployer, makePerson } from '../http/test-app';
import { execute } from '../support/database';

let executed = 0;
let gate: Promise<void> = Promise.resolve();
let failure: Error | undefined;

@Controller('v1/employers/:employerId')
@Allow('preparer')
class Routes {
  @Post('runs')
  async make(@Body() body: unknown) {
    executed += 1;
    const nth = executed;
    await gate;
    if (failure !== undefined) throw failure;
    return { nth, name: 'Ana Ñúñez', body: body ?? null };
  }

  @Post('accepted')
  @HttpCode(202)
  accept() {
    executed += 1;
  }

  @Post('unwell')
  unwell(@Res({ passthrough: true }) response: Response) {
    executed += 1;
    response.status(503);
    return { executed };
  }

  @Post('once')
  @CarriedOutOnce()
  async once() {
    executed += 1;
    if (failure !== undefined) throw failure;
    return { executed };
  }

  @Post('upload')
  @SkipIdempotency()
  async upload(@Req() stream: Request) {
    executed += 1;
    let bytes = 0;
    for await (const chunk of stream) bytes += (chunk as Buffer).length;
    return { bytes };
  }
}

describe('an Idempotency-Key', () => {
  let running: Awaited<ReturnType<typeof identityApp>>;
  let acme: string;
  let globex: string;
  let pat: Awaited<ReturnType<typeof makePerson>>;
  let sam: Awaited<ReturnType<typeof makePerson>>;
  let nthKey = 0;

  const post = (key: string, body?: object, path = 'runs', employerId = acme, who = pat) => {
    const asked = request(running.server)
      .post(`/v1/employers/${showId('emp', employerId)}/${path}`)
      .set('Authorization', who.authorization)
      .set('Idempotency-Key', key);
    return body === undefined ? asked : asked.send(body);
  };
  const newKey = () => `key-${(nthKey += 1)}`;
  const stored = () => running.database.inEmployer(acme, (tx) => tx.query('SELECT * FROM idempotency_key'));

  beforeAll(async () => {
    running = await identityApp([IdentityModule], [Routes]);
    acme = await makeEmployer(running.database, 'Acme');
    globex = await makeEmployer(running.database, 'Globex');
    pat = await makePerson(running.database, 'Pat', { [acme]: ['preparer'], [globex]: ['preparer'] });
    sam = await makePerson(running.database, 'Sam', { [acme]: ['preparer'] });
  });
  beforeEach(() => {
    executed = 0;
    gate = Promise.resolve();
    failure = undefined;
  });
  afterAll(() => running.close());

  it('is not needed', async () => {
    for (const nth of [1, 2]) {
      const answer = await request(running.server)
        .post(`/v1/employers/${showId('emp', acme)}/runs`)
        .set('Authorization', pat.authorization);
      expect([answer.status, answer.body.nth]).toEqual([201, nth]);
    }
  });

  it('gives the first answer again, to the byte, and says that it is a replay', async () => {
    const key = newKey();
    const first = await post(key, { period: '2026-09' });
    const again = await post(key, { period: '2026-09' });
    expect([first.status, first.headers['idempotent-replayed']]).toEqual([201, undefined]);
    expect([again.status, again.headers['idempotent-replayed']]).toEqual([201, 'true']);
    expect(again.text).toBe(first.text);
    expect(executed).toBe(1);
  });

  it('does not take back an answer that could not be kept: what was asked for is done', async () => {
    const keeping = jest.spyOn(IdempotencyKeys.prototype, 'complete');
    keeping.mockRejectedValueOnce(new DatabaseAway(new Error('gone')));
    const answer = await post(newKey(), {});
    keeping.mockRestore();
    expect([answer.status, answer.body.nth]).toEqual([201, 1]);
  });

  it('keeps an answer without a body, and its status', async () => {
    const key = newKey();
    const first = await post(key, undefined, 'accepted');
    const again = await post(key, undefined, 'accepted');
    expect([first.status, again.status, first.text, again.text, executed]).toEqual([202, 202, '', '', 1]);
  });

  it('is refused with another body or for another address', async () => {
    const key = newKey();
    await post(key, { period: '2026-09' });
    for (const other of [
      post(key, { period: '2026-10' }),
      post(key),
      post(key, { period: '2026-09' }, 'accepted'),
    ]) {
      const answer = await other;
      expect([answer.status, JSON.parse(answer.text).code]).toEqual([422, 'IDEMPOTENCY_KEY_REUSED']);
    }
    expect(executed).toBe(1);
  });

  it('is its person’s own, and its employer’s', async () => {
    const key = newKey();
    await post(key, {});
    expect((await post(key, {}, 'runs', acme, sam)).body.nth).toBe(2);
    expect((await post(key, {}, 'runs', globex)).body.nth).toBe(3);
  });

  it('carries a double-click out once', async () => {
    const key = newKey();
    let open: () => void = () => undefined;
    gate = new Promise((resolve) => (open = resolve));
    const answers: { status: number; code?: string }[] = [];
    const clicks = Array.from({ length: 6 }, async () => {
      const { status, text } = await post(key, { a: 1 });
      if (answers.push({ status, code: JSON.parse(text).code }) === 5) open();
    });
    await Promise.all(clicks);
    const refused = { status: 409, code: 'IDEMPOTENCY_IN_PROGRESS' };
    expect(answers).toEqual([refused, refused, refused, refused, refused, { status: 201 }]);
    expect(executed).toBe(1);
    expect((await post(key, { a: 1 })).headers['idempotent-replayed']).toBe('true');
  });

  it('may be tried again after a failure of whatever kind', async () => {
    const key = newKey();
    for (const fault of [new Error('broken'), new Problem(409, 'NOT_NOW', 'Not now.')]) {
      failure = fault;
      expect((await post(key, {})).status).toBeGreaterThanOrEqual(409);
    }
    failure = undefined;
    expect((await post(key, {})).body.nth).toBe(3);
    expect((await post(key, {})).body.nth).toBe(3);
  });

  it('keeps no answer that says the service was unwell', async () => {
    const key = newKey();
    expect([(await post(key, {}, 'unwell')).body, (await post(key, {}, 'unwell')).body]).toEqual([
      { executed: 1 },
      { executed: 2 },
    ]);
  });

  it('is taken over from a process that died, after five minutes and not before', async () => {
    const key = newKey();
    const keys = running.app.get(IdempotencyKeys);
    const died = { employerId: acme, personId: pat.personId, key, fingerprint: Buffer.alloc(32, 7) };
    const age = (text: string) =>
      execute(
        running.store.superuserUrl,
        'UPDATE idempotency_key SET created_at = now() - $2::interval WHERE key = $1',
        [key, text],
      );
    const first = await keys.reserve(died);
    await age('4 minutes');
    expect((await keys.reserve(died)).kind).toBe('in-progress');
    await age('6 minutes');
    expect((await keys.reserve({ ...died, fingerprint: Buffer.alloc(32, 8) })).kind).toBe('reused');
    const second = await keys.reserve(died);
    if (first.kind !== 'first' || second.kind !== 'first') throw new Error('not reserved');
    await keys.complete(first.reservation, 201, 'the dead one’s');
    await keys.release(first.reservation);
    expect((await keys.reserve(died)).kind).toBe('in-progress');
    await keys.complete(second.reservation, 200, { mine: true });
    await keys.release(second.reservation);
    expect(await keys.reserve(died)).toEqual({ kind: 'replay', status: 200, body: { mine: true } });
  });

  describe('of what nobody can see whether it was carried out', () => {
    const age = (key: string) =>
      execute(
        running.store.superuserUrl,
        `UPDATE idempotency_key SET created_at = now() - interval '6 minutes' WHERE key = $1`,
        [key],
      );
    const codeOf = async (key: string) => {
      const { status, body, text } = await post(key, {}, 'once');
      return [status, body.code ?? JSON.parse(text).code];
    };

    it.each([
      [500, new Error('killed')],
      [503, new NotDurable('the commit was not answered')],
    ])('is never taken over: whoever repeats it has not looked since (%i)', async (status, error) => {
      const key = newKey();
      failure = error;
      expect((await post(key, {}, 'once')).status).toBe(status);
      failure = undefined;
      expect(await codeOf(key)).toEqual([409, 'IDEMPOTENCY_UNFINISHED']);
      expect(await codeOf(key)).toEqual([409, 'IDEMPOTENCY_UNFINISHED']);
      expect(executed).toBe(1);
      expect((await post(newKey(), {}, 'once')).body).toEqual({ executed: 2 });
    });

    it('is in progress for five minutes where it cannot be said that its request ended', async () => {
      const key = newKey();
      failure = new NotDurable('the commit was not answered');
      const keys = running.app.get(IdempotencyKeys);
      jest.spyOn(keys, 'breakOff').mockRejectedValueOnce(new DatabaseAway(new Error('gone')));
      expect(await codeOf(key)).toEqual([503, 'OUTCOME_UNKNOWN']);
      failure = undefined;
      expect(await codeOf(key)).toEqual([409, 'IDEMPOTENCY_IN_PROGRESS']);
      await age(key);
      expect(await codeOf(key)).toEqual([409, 'IDEMPOTENCY_UNFINISHED']);
      expect(executed).toBe(1);
    });

    it.each([
      ['was refused', new Problem(422, 'BANK_REFUSED', 'No.'), [422, 'BANK_REFUSED']],
      ['was not begun', new DatabaseAway(new Error('gone')), [503, 'TEMPORARILY_UNAVAILABLE']],
    ])('is given back where what was asked for %s', async (_what, error, told) => {
      const key = newKey();
      failure = error;
      expect(await codeOf(key)).toEqual(told);
      failure = undefined;
      expect((await post(key, {}, 'once')).body).toEqual({ executed: 2 });
    });
  });

  it('is forgotten after thirty days', async () => {
    const keys = running.app.get(IdempotencyKeys);
    const key = newKey();
    await post(key, {});
    const days = (count: number) => new Date(Date.now() + count * 86_400_000);
    expect(await keys.forgetOldKeys(acme, days(29))).toBe(0);
    const before = (await stored()).length;
    expect(before).toBeGreaterThan(1);
    expect(await keys.forgetOldKeys(acme, days(31))).toBe(before);
    expect(await stored()).toEqual([]);
    expect((await post(key, {})).body.nth).toBe(2);
  });

  it('is left aside by a route that takes a stream', async () => {
    const key = newKey();
    for (let n = 0; n < 2; n += 1) {
      const answer = await post(key, undefined, 'upload').set('Content-Type', 'text/csv').send('a;b\n');
      expect(answer.body).toEqual({ bytes: 4 });
    }
    expect(executed).toBe(2);
  });

  it('is left aside for a body that is not JSON, of which nothing is known', async () => {
    const key = newKey();
    for (const nth of [1, 2]) {
      const answer = await post(key, undefined).set('Content-Type', 'text/csv').send(`row ${nth}`);
      expect(answer.body.nth).toBe(nth);
    }
  });

  it.each([['x'.repeat(256)], ['with space'], ['ümlaut']])(
    'has 1 to 255 printable characters, unlike %s',
    async (key) => {
      const answer = await post(key, {});
      expect([answer.status, JSON.parse(answer.text).code]).toEqual([400, 'IDEMPOTENCY_KEY_INVALID']);
    },
  );
});
