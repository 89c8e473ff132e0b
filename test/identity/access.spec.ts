import { Controller, Get, Param, Post } from '@nestjs/common';
import request from 'supertest';
import { newId } from '../../src/database/new-id';
import { Allow, Public } from '../../src/http/allow';
import { IdParam, showId } from '../../src/http/prefixed-id';
import { Me, SignedIn } from '../../src/http/signed-in';
import { IdentityModule } from '../../src/identity/identity.module';
import { People } from '../../src/identity/people.service';
import { identityApp, makeEmployer, makePerson } from '../http/test-app';

@Controller('v1/employers/:employerId')
class EmployerRoutes {
  @Get('reports')
  @Allow('finance', 'operator')
  reports(@Me() me: SignedIn, @Param('employerId', new IdParam('emp')) employerId: string) {
    return { person: me.personId, employerId, same: me.employerId === employerId, roles: [...me.roles] };
  }

  @Get('overview')
  @Allow('any')
  overview() {
    return {};
  }

  @Post('stop')
  @Allow('administrator', 'operator')
  stop() {
    return {};
  }

  @Get('forgotten')
  forgotten() {
    return { secret: true };
  }
}

@Controller('v1/installation')
@Allow('administrator')
class InstallationRoutes {
  @Get()
  installation() {
    return {};
  }

  @Get('sign')
  @Public()
  sign() {
    return { open: true };
  }
}

describe('access', () => {
  let running: Awaited<ReturnType<typeof identityApp>>;
  let acme: string;
  let globex: string;
  let fay: Awaited<ReturnType<typeof makePerson>>;
  let pat: Awaited<ReturnType<typeof makePerson>>;
  let admin: Awaited<ReturnType<typeof makePerson>>;
  let people: People;

  const get = (path: string, authorization?: string) => {
    const asked = request(running.server).get(path);
    return authorization === undefined ? asked : asked.set('Authorization', authorization);
  };
  const at = (employerId: string, path: string) => `/v1/employers/${showId('emp', employerId)}/${path}`;
  const outcome = async (path: string, authorization?: string) => {
    const answer = await get(path, authorization);
    return answer.status === 200 ? 200 : `${answer.status} ${JSON.parse(answer.text).code}`;
  };

  beforeAll(async () => {
    running = await identityApp([IdentityModule], [EmployerRoutes, InstallationRoutes]);
    people = running.app.get(People);
    acme = await makeEmployer(running.database, 'Acme');
    globex = await makeEmployer(running.database, 'Globex');
    fay = await makePerson(running.database, 'Fay Finance', { [acme]: ['finance'] });
    pat = await makePerson(running.database, 'Pat Preparer', {
      [acme]: ['preparer'],
      [globex]: ['finance', 'approver'],
    });
    admin = await makePerson(running.database, 'Ada Admin', {}, true);
  });
  afterAll(() => running.close());

  it('is refused on a route nobody opened, to everybody', async () => {
    for (const { authorization } of [fay, admin]) {
      expect(await outcome(at(acme, 'forgotten'), authorization)).toBe('403 ROUTE_NOT_OPEN');
    }
  });

  it('is open to everybody on a public route only, also beneath a class that is not', async () => {
    expect(await outcome('/v1/installation/sign')).toBe(200);
    expect(await outcome('/v1/installation')).toBe('401 NOT_SIGNED_IN');
  });

  it.each([
    ['nothing', undefined],
    ['an unknown key', `Bearer pk_${'A'.repeat(43)}`],
    ['a malformed key', 'Bearer pk_short'],
    ['another scheme', `Basic pk_${'A'.repeat(43)}`],
    ['something more than a key', `Bearer pk_${'A'.repeat(43)} OR 1=1`],
  ])('takes a valid key, not %s', async (_, authorization) => {
    const answer = await get('/v1/me', authorization);
    expect([answer.status, answer.headers['www-authenticate']]).toEqual([401, 'Bearer']);
  });

  it('lets a person in where they hold one of the roles, and tells the route who they are', async () => {
    const answer = await get(at(acme, 'reports'), fay.authorization);
    expect(answer.body).toEqual({ person: fay.personId, employerId: acme, same: true, roles: ['finance'] });
  });

  it('names the roles it takes to whoever holds another one there', async () => {
    const answer = await get(at(acme, 'reports'), pat.authorization);
    expect([answer.status, JSON.parse(answer.text)]).toEqual([
      403,
      expect.objectContaining({ code: 'ROLE_REQUIRED', roles: ['finance', 'operator'] }),
    ]);
  });

  it('does not lend a role of one employer to another', async () => {
    expect(await outcome(at(globex, 'reports'), pat.authorization)).toBe(200);
    expect(await outcome(at(acme, 'reports'), pat.authorization)).toBe('403 ROLE_REQUIRED');
  });

  it('answers for an employer where one has no role exactly as for one that does not exist', async () => {
    const [foreign, missing, malformed] = await Promise.all([
      get(at(globex, 'reports'), fay.authorization),
      get(at(newId(), 'reports'), fay.authorization),
      get('/v1/employers/emp_x/reports', fay.authorization),
    ]);
    const told = [foreign, missing, malformed].map(({ text }) => {
      const { instance, requestId, ...rest } = JSON.parse(text);
      expect([instance, requestId]).toHaveLength(2);
      return rest;
    });
    expect(told[0]).toMatchObject({ status: 404, code: 'EMPLOYER_NOT_FOUND' });
    expect(told[1]).toEqual(told[0]);
    expect(told[2]).toEqual(told[0]);
  });

  it('makes an administrator no member of any employer', async () => {
    expect(await outcome('/v1/installation', admin.authorization)).toBe(200);
    expect(await outcome(at(acme, 'reports'), admin.authorization)).toBe('403 ROLE_REQUIRED');
    expect(await outcome(at(acme, 'overview'), admin.authorization)).toBe('403 ROLE_REQUIRED');
    const stop = await request(running.server)
      .post(at(acme, 'stop'))
      .set('Authorization', admin.authorization);
    expect(stop.status).toBe(201);
  });

  it('opens a route for any to whoever holds a role there', async () => {
    expect(await outcome(at(acme, 'overview'), pat.authorization)).toBe(200);
    expect(await outcome('/v1/installation', pat.authorization)).toBe('403 ROLE_REQUIRED');
  });

  it('tells a person who they are and where they may do what', async () => {
    expect((await get('/v1/me', pat.authorization)).body).toEqual({
      person: { id: showId('per', pat.personId), name: 'Pat Preparer', administrator: false },
      employers: [
        { id: showId('emp', acme), roles: ['preparer'] },
        { id: showId('emp', globex), roles: ['approver', 'finance'] },
      ],
    });
    expect((await get('/v1/me', admin.authorization)).body.employers).toEqual([]);
  });

  it('ends with the next request when a key is revoked, and only that key', async () => {
    const second = await running.database.outsideEmployers((tx) =>
      people.issueKey(tx, fay.personId, 'second'),
    );
    const revoke = () => running.database.outsideEmployers((tx) => people.revokeKey(tx, second.keyId));
    expect(await outcome('/v1/me', `Bearer ${second.key}`)).toBe(200);
    await revoke();
    await revoke();
    expect(await outcome('/v1/me', `Bearer ${second.key}`)).toBe('401 NOT_SIGNED_IN');
    expect(await outcome('/v1/me', fay.authorization)).toBe(200);
  });

  it('ends when a key expires', async () => {
    const expiresAt = new Date(running.clock.now().getTime() + 86_400_000);
    const { key } = await running.database.outsideEmployers((tx) =>
      people.issueKey(tx, fay.personId, 'day', expiresAt),
    );
    expect(await outcome('/v1/me', `Bearer ${key}`)).toBe(200);
    running.clock.advance(86_400_001);
    expect(await outcome('/v1/me', `Bearer ${key}`)).toBe('401 NOT_SIGNED_IN');
  });

  it('ends when a role is taken back', async () => {
    const rob = await makePerson(running.database, 'Rob', { [acme]: ['operator'] });
    expect(await outcome(at(acme, 'reports'), rob.authorization)).toBe(200);
    const revoke = () =>
      running.database.inEmployer(acme, (tx) => people.revokeRole(tx, rob.personId, 'operator'));
    expect([await revoke(), await revoke()]).toEqual([true, false]);
    expect(await outcome(at(acme, 'reports'), rob.authorization)).toBe('404 EMPLOYER_NOT_FOUND');
  });

  it('ends for every key when a person is disabled, who then gets no new key or role', async () => {
    const dan = await makePerson(running.database, 'Dan', { [acme]: ['operator'] });
    await running.database.outsideEmployers((tx) => people.disablePerson(tx, dan.personId));
    expect(await outcome('/v1/me', dan.authorization)).toBe('401 NOT_SIGNED_IN');
    const issue = running.database.outsideEmployers((tx) => people.issueKey(tx, dan.personId, 'again'));
    await expect(issue).rejects.toMatchObject({ code: 'PERSON_DISABLED' });
    const grant = running.database.inEmployer(acme, (tx) => people.grantRole(tx, dan.personId, 'finance'));
    await expect(grant).rejects.toMatchObject({ code: 'PERSON_DISABLED' });
  });
});

describe('people', () => {
  let running: Awaited<ReturnType<typeof identityApp>>;
  let people: People;
  beforeAll(async () => {
    running = await identityApp([IdentityModule], []);
    people = running.app.get(People);
  });
  afterAll(() => running.close());

  it('get a key of 256 bits, of which the database holds nothing that could be used', async () => {
    const { key, keyId, stored } = await running.database.outsideEmployers(async (tx) => {
      const person = await people.createPerson(tx, '  Kim  ');
      const issued = await people.issueKey(tx, person.id, 'laptop');
      const rows = await tx.query(
        `SELECT k::text || p::text AS text FROM api_key k JOIN person p ON p.id = k.person_id`,
      );
      return { ...issued, stored: JSON.stringify(rows) };
    });
    expect(key).toMatch(/^pk_[A-Za-z0-9_-]{43}$/);
    expect(stored).toContain(keyId);
    expect(stored).toContain('Kim');
    expect(stored).not.toContain(key.slice(3));
    expect(stored).not.toContain(Buffer.from(key.slice(3), 'base64url').toString('hex'));
  });

  it('are listed with their roles at one employer, and none of another', async () => {
    const acme = await makeEmployer(running.database, 'Acme');
    const globex = await makeEmployer(running.database, 'Globex');
    const pat = await makePerson(running.database, 'Pat', {
      [acme]: ['preparer', 'finance'],
      [globex]: ['approver'],
    });
    await makePerson(running.database, 'Gil', { [globex]: ['approver'] });
    expect(await running.database.inEmployer(acme, (tx) => people.peopleOfEmployer(tx))).toEqual([
      { id: pat.personId, name: 'Pat', disabled: false, roles: ['finance', 'preparer'] },
    ]);
  });

  it('hold a role once, at an employer that exists', async () => {
    const acme = await makeEmployer(running.database, 'Once');
    const { personId } = await makePerson(running.database, 'Ona', { [acme]: ['finance'] });
    const grant = (employerId: string, person: string) =>
      running.database.inEmployer(employerId, (tx) => people.grantRole(tx, person, 'finance'));
    expect(await grant(acme, personId)).toBe(false);
    await expect(grant(newId(), personId)).rejects.toMatchObject({ code: 'EMPLOYER_NOT_FOUND' });
    await expect(grant(acme, newId())).rejects.toMatchObject({ code: 'PERSON_NOT_FOUND' });
  });

  it('have a name', async () => {
    for (const name of ['', '   ', 'x'.repeat(141)]) {
      const create = running.database.outsideEmployers((tx) => people.createPerson(tx, name));
      await expect(create).rejects.toMatchObject({ code: 'PERSON_NAME_INVALID' });
    }
  });

  it('are all listed, disabled ones last', async () => {
    const { personId } = await makePerson(running.database, 'Aaron');
    const disable = () => running.database.outsideEmployers((tx) => people.disablePerson(tx, personId));
    expect([await disable(), await disable()]).toEqual([true, false]);
    const all = await running.database.outsideEmployers((tx) => people.everybody(tx));
    expect(all.at(-1)).toMatchObject({ id: personId, name: 'Aaron', administrator: false });
    const enabled = all.slice(0, -1).map(({ name, disabledAt }) => [name, disabledAt]);
    expect(enabled).toEqual(enabled.map(([name]) => [name, null]).sort());
    expect(enabled.map(([name]) => name)).toContain('Kim');
  });

  it('who are administrators are disabled as long as one is left, also when two disable one another', async () => {
    const made = await Promise.all(
      ['Ada', 'Alan'].map((name) => makePerson(running.database, name, {}, true)),
    );
    const disabled = await Promise.allSettled(
      made.map(({ personId }) =>
        running.database.outsideEmployers((tx) => people.disablePerson(tx, personId)),
      ),
    );
    expect(disabled.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    const refused = disabled.find((one) => one.status === 'rejected');
    expect(refused?.reason).toMatchObject({ code: 'LAST_ADMINISTRATOR' });
  });

  it('and keys that are not there are said not to be', async () => {
    const revoke = running.database.outsideEmployers((tx) => people.revokeKey(tx, newId()));
    await expect(revoke).rejects.toMatchObject({ code: 'API_KEY_NOT_FOUND' });
    const disable = running.database.outsideEmployers((tx) => people.disablePerson(tx, newId()));
    await expect(disable).rejects.toMatchObject({ code: 'PERSON_NOT_FOUND' });
  });
});
