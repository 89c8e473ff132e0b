import { Leases, wake } from '../../src/database/leases';
import { newId } from '../../src/database/new-id';
import { DatabaseAway } from '../../src/database/outage';
import { apiDocument } from '../../src/http/openapi';
import { showId } from '../../src/http/prefixed-id';
import { People } from '../../src/identity/people.service';
import { makePerson } from '../http/test-app';
import { execute, LEAVES_UNANSWERED } from '../support/database';
import { Body, Company, Desk, person } from './desk';

let desk: Desk;
beforeAll(async () => {
  desk = await Desk.open();
});
afterAll(() => desk.close());

describe('employers', () => {
  it('are created by an administrator, with settings of their own, and are not readable to others', async () => {
    const body = { name: 'Dogwood SAS', timeZone: 'Europe/Madrid', approvalsRequired: 2 };
    const created = await desk.call('POST', '/v1/employers', desk.administrator, body);
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({ ...body, rowsPerInstruction: 500, stopped: null });
    const stranger = await makePerson(desk.database, 'Stranger');
    const path = `/v1/employers/${created.body.id}`;
    expect(await desk.call('GET', path, stranger.authorization)).toMatchObject({
      status: 404,
      body: { code: 'EMPLOYER_NOT_FOUND' },
    });
    expect((await desk.call('POST', '/v1/employers', stranger.authorization, body)).status).toBe(403);
    expect((await desk.call('GET', path, desk.administrator)).body).toEqual(created.body);
  });

  it('refuses a name that is taken and a time zone that does not exist', async () => {
    const { body } = await desk.call('POST', '/v1/employers', desk.administrator, {
      name: 'Elm BV',
      timeZone: 'Europe/Atlantis',
      rowsPerInstruction: 0,
    });
    expect(body.errors.map(({ pointer }: Body) => pointer)).toEqual(['#/timeZone', '#/rowsPerInstruction']);
    await desk.employer('Elm BV');
    const again = { name: ' Elm BV ', timeZone: 'Europe/Paris' };
    expect(await desk.call('POST', '/v1/employers', desk.administrator, again)).toMatchObject({
      status: 409,
      body: { code: 'EMPLOYER_NAME_TAKEN' },
    });
  });

  it('lists all of them to an administrator, page by page, and to others those of their roles', async () => {
    const mine = await desk.employer('Fir AG');
    const also = await desk.employer('Gum Oy');
    const seen: string[] = [];
    let cursor = '';
    do {
      const page = await desk.call('GET', `/v1/employers?limit=2${cursor}`, desk.administrator);
      seen.push(...page.body.items.map(({ name }: Body) => name));
      cursor = page.body.nextCursor === null ? '' : `&cursor=${page.body.nextCursor}`;
    } while (cursor !== '');
    expect(seen).toEqual(expect.arrayContaining(['Dogwood SAS', 'Elm BV', 'Fir AG', 'Gum Oy']));
    expect(new Set(seen).size).toBe(seen.length);
    const { authorization } = await makePerson(desk.database, 'Both', {
      [mine.uuid]: ['finance'],
      [also.uuid]: ['preparer'],
    });
    const listed = await desk.call('GET', '/v1/employers', authorization);
    expect(listed.body.items.map(({ name }: Body) => name)).toEqual(['Fir AG', 'Gum Oy']);
    expect((await desk.call('GET', '/v1/employers?cursor=nonsense', authorization)).status).toBe(422);
  });

  it('lets an operator set and lower the limits of pay, and only an administrator raise or take them away', async () => {
    const company = await desk.employer('Ginkgo Oy');
    const none = { payment: null, run: null, increaseBasisPoints: null, daysAhead: null };
    expect((await company.as('finance', 'GET', '')).body.limits).toEqual(none);
    const set = { payment: '10000.00', increaseBasisPoints: 2_000, daysAhead: 40 };
    expect((await company.as('operator', 'PATCH', '', { limits: set })).body.limits).toEqual({
      ...none,
      ...set,
    });
    const lowered = await company.as('operator', 'PATCH', '', { limits: { payment: '9000.5', run: '1' } });
    expect(lowered.body.limits).toEqual({ ...set, payment: '9000.50', run: '1.00' });
    for (const looser of [
      { payment: '9000.51' },
      { run: null },
      { increaseBasisPoints: 2_001 },
      { daysAhead: 41 },
    ]) {
      expect(await company.as('operator', 'PATCH', '', { limits: looser })).toMatchObject({
        status: 403,
        body: { code: 'ADMINISTRATOR_REQUIRED' },
      });
      expect((await company.asAdministrator('PATCH', '', { limits: looser })).body.limits).toMatchObject(
        looser,
      );
    }
    for (const wrong of [
      { payment: '0.00' },
      { payment: '1e3' },
      { increaseBasisPoints: -1 },
      { daysAhead: 367 },
      { daysAhead: 6 },
      { other: 1 },
    ]) {
      expect((await company.asAdministrator('PATCH', '', { limits: wrong })).status).toBe(422);
    }
    expect((await company.as('preparer', 'PATCH', '', { limits: set })).status).toBe(403);
    const [entry] = await desk.database.inEmployer(company.uuid, (tx) =>
      tx.query<{ detail: unknown }>(
        `SELECT detail FROM audit_entry WHERE action = 'employer.changed' ORDER BY seq LIMIT 1`,
      ),
    );
    expect(entry?.detail).toEqual({ limits: { ...none, ...set } });
  });

  it('lets an operator change settings and raise the approvals, and only an administrator lower them', async () => {
    const company = await desk.employer('Hazel KG');
    const raised = await company.as('operator', 'PATCH', '', {
      approvalsRequired: 3,
      rowsPerInstruction: 20,
    });
    expect(raised.body).toMatchObject({ approvalsRequired: 3, rowsPerInstruction: 20, name: 'Hazel KG' });
    const lower = { approvalsRequired: 1 };
    expect(await company.as('operator', 'PATCH', '', lower)).toMatchObject({
      status: 403,
      body: { code: 'ADMINISTRATOR_REQUIRED' },
    });
    expect((await company.as('preparer', 'PATCH', '', lower)).status).toBe(403);
    expect((await company.as('operator', 'PATCH', '', {})).status).toBe(422);
    expect((await company.as('finance', 'GET', '')).body.approvalsRequired).toBe(3);
    expect((await company.asAdministrator('PATCH', '', lower)).body.approvalsRequired).toBe(1);
    expect((await company.audited()).map(({ action }) => action)).toEqual([
      'employer.created',
      'employer.changed',
      'employer.changed',
    ]);
  });

  it('asks for ticks of new IBANs unless an administrator lets them go', async () => {
    const company = await desk.employer('Juniper Ltd');
    expect((await company.as('finance', 'GET', '')).body).toMatchObject({
      tickIbans: true,
      netChangeBasisPoints: 2_000,
      remittanceTemplate: null,
    });
    const off = { tickIbans: false };
    expect(await company.as('operator', 'PATCH', '', off)).toMatchObject({
      status: 403,
      body: { code: 'ADMINISTRATOR_REQUIRED' },
    });
    expect((await company.asAdministrator('PATCH', '', off)).body.tickIbans).toBe(false);
    const on = { tickIbans: true, netChangeBasisPoints: 500 };
    expect((await company.as('operator', 'PATCH', '', on)).body).toMatchObject(on);
    expect((await company.audited()).at(-1)).toMatchObject({ action: 'employer.changed', detail: on });
    const blind = { netChangeBasisPoints: 501 };
    expect(await company.as('operator', 'PATCH', '', blind)).toMatchObject({
      status: 403,
      body: { code: 'ADMINISTRATOR_REQUIRED' },
    });
    expect((await company.asAdministrator('PATCH', '', blind)).body).toMatchObject(blind);
  });

  it('takes a template of the remittance whose placeholders it knows, and gives it up', async () => {
    const company = await desk.employer('Kapok NV');
    const change = (remittanceTemplate: string | null) =>
      company.as('operator', 'PATCH', '', { remittanceTemplate });
    expect((await change('Salary {period} {employer}')).body.remittanceTemplate).toBe(
      'Salary {period} {employer}',
    );
    expect((await change(null)).body.remittanceTemplate).toBeNull();
    for (const refused of ['Salary {month}', '', 'x'.repeat(141), 'Зарплата']) {
      const { status, body } = await change(refused);
      expect([status, body.errors[0].pointer]).toEqual([422, '#/remittanceTemplate']);
    }
    const body = { name: 'Larch AB', timeZone: 'Europe/Paris', remittanceTemplate: '{salary}' };
    expect((await desk.call('POST', '/v1/employers', desk.administrator, body)).status).toBe(422);
  });

  it('describes its routes in the OpenAPI document', () => {
    const { paths } = apiDocument(desk.app);
    const check = '/v1/employers/{employerId}/accounts/{accountId}/balance-check';
    expect(Object.keys(paths)).toEqual(expect.arrayContaining([check, '/v1/employers', '/v1/service/stop']));
    expect(JSON.stringify(paths[check]?.post?.requestBody)).toContain('BalanceCheck');
  });
});

describe('roles at an employer', () => {
  it('are granted and taken back by an administrator and count from the next request on', async () => {
    const company = await desk.employer('Ivy Ltd');
    const { personId, authorization } = await makePerson(desk.database, 'Newcomer');
    const path = `/people/${person(personId)}/roles`;
    expect((await company.as('operator', 'POST', path, { role: 'approver' })).status).toBe(403);
    const granted = await company.asAdministrator('POST', path, { role: 'finance' });
    expect(granted.body.items).toContainEqual({
      id: person(personId),
      name: 'Newcomer',
      disabled: false,
      roles: ['finance'],
    });
    await company.asAdministrator('POST', path, { role: 'finance' });
    expect((await desk.call('GET', `/v1/employers/${company.id}`, authorization)).status).toBe(200);
    expect((await company.asAdministrator('DELETE', `${path}/finance`)).status).toBe(204);
    expect((await desk.call('GET', `/v1/employers/${company.id}`, authorization)).status).toBe(404);
    expect((await company.asAdministrator('DELETE', `${path}/king`)).body.code).toBe('ROLE_NOT_FOUND');
    const actions = (await company.audited()).filter(({ subject }) => subject === person(personId));
    expect(actions.map(({ action, detail }) => [action, detail.role])).toEqual([
      ['role.granted', 'finance'],
      ['role.revoked', 'finance'],
    ]);
  });

  it('are not said not to be granted where only the list of them could not be read any more', async () => {
    const company = await desk.employer('Larch Ltd');
    const { personId } = await makePerson(desk.database, 'Newcomer');
    const list = jest.spyOn(People.prototype, 'peopleOfEmployer');
    list.mockRejectedValueOnce(new DatabaseAway(new Error('gone')));
    const path = `/people/${person(personId)}/roles`;
    const granted = await company.asAdministrator('POST', path, { role: 'finance' });
    expect([granted.status, granted.body.code]).toEqual([503, 'OUTCOME_UNKNOWN']);
    const { body } = await company.asAdministrator('GET', '/people');
    expect(body.items).toContainEqual(expect.objectContaining({ roles: ['finance'] }));
    list.mockRestore();
  });

  it('are not given again by a repetition once they were taken back, where the answer was lost', async () => {
    const company = await desk.employer('Laurel Ltd');
    const { personId } = await makePerson(desk.database, 'Leaver');
    const path = `/people/${person(personId)}/roles`;
    const grant = () => company.asAdministrator('POST', path, { role: 'approver' }, 'grant');
    expect((await grant()).status).toBe(200);
    await execute(desk.store.superuserUrl, LEAVES_UNANSWERED);
    expect((await company.asAdministrator('DELETE', `${path}/approver`)).status).toBe(204);
    expect(await grant()).toMatchObject({ status: 409, body: { code: 'IDEMPOTENCY_UNFINISHED' } });
    const { body } = await company.asAdministrator('GET', '/people');
    expect(body.items).not.toContainEqual(expect.objectContaining({ id: person(personId) }));
  });

  it('cannot be given to somebody who does not exist', async () => {
    const company = await desk.employer('Juniper SL');
    const path = `/people/${person(newId())}/roles`;
    expect((await company.asAdministrator('POST', path, { role: 'finance' })).body.code).toBe(
      'PERSON_NOT_FOUND',
    );
  });
});

/** Somebody lets the employer go on who has read what stops it. */
async function resumed(company: Company, who: 'operator' | 'approver', more: Body = {}) {
  const { stopped } = (await company.as(who, 'GET', '')).body;
  return company.as(who, 'POST', '/resume', { reason: 'looked into', stoppedAt: stopped.since, ...more });
}

/** As `resumed`, of everybody. */
async function resumedService(more: Body = {}) {
  const { changedAt: stoppedAt } = (await desk.call('GET', '/v1/service', desk.administrator)).body;
  return desk.call('POST', '/v1/service/resume', desk.administrator, {
    reason: 'looked into',
    stoppedAt,
    ...more,
  });
}

describe('the kill switch of an employer', () => {
  let company: Company;
  beforeAll(async () => {
    company = await desk.employer('Kauri Inc');
  });

  it('is thrown by one person, and is not turned back by the same person', async () => {
    expect((await company.as('preparer', 'POST', '/stop', { reason: 'no right' })).status).toBe(403);
    const stopped = await company.as('operator', 'POST', '/stop', { reason: 'strange payees' });
    expect(stopped).toMatchObject({ status: 200, body: { stopped: { reason: 'strange payees' } } });
    const again = await company.as('operator', 'POST', '/stop', { reason: 'strange payees' });
    expect(again.body.stopped).toEqual(stopped.body.stopped);
    const stoppedAt = stopped.body.stopped.since;
    expect(await company.as('operator', 'POST', '/resume', { reason: 'all clear', stoppedAt })).toMatchObject(
      {
        status: 409,
        body: {
          code: 'SECOND_PERSON_REQUIRED',
          detail: expect.stringContaining('another operator or approver'),
          standing: [{ personId: person(company.people.operator.personId), reason: 'strange payees' }],
        },
      },
    );
    expect((await company.as('finance', 'POST', '/resume', { reason: 'all clear', stoppedAt })).status).toBe(
      403,
    );
    const resumed = await company.as('approver', 'POST', '/resume', { reason: 'all clear', stoppedAt });
    expect(resumed).toMatchObject({ status: 200, body: { stopped: null } });
    expect(await company.as('approver', 'POST', '/resume', { reason: 'once more', stoppedAt })).toMatchObject(
      {
        status: 409,
        body: { code: 'NOT_STOPPED' },
      },
    );
    const switched = (await company.audited()).filter(({ action }) => action !== 'employer.created');
    expect(switched.map(({ action, person_id }) => [action, person_id])).toEqual([
      ['employer.stopped', company.people.operator.personId],
      ['employer.resumed', company.people.approver.personId],
    ]);
  });

  it('keeps the stop of each person, and is turned back only by another who knows of all of them', async () => {
    const { finance, operator } = company.people;
    const before = (await company.audited()).length;
    const stopped = await company.as('operator', 'POST', '/stop', { reason: 'bank looks odd' });
    const again = await company.as('finance', 'POST', '/stop', { reason: 'wrong file approved' });
    const both = { since: stopped.body.stopped.since, reason: 'bank looks odd; wrong file approved' };
    expect(again).toMatchObject({ status: 200, body: { stopped: both } });
    expect((await company.as('preparer', 'GET', '')).body.stopped).toEqual(both);
    await desk.call(
      'POST',
      `/v1/employers/${company.id}/people/${person(finance.personId)}/roles`,
      desk.administrator,
      {
        role: 'approver',
      },
    );
    for (const { authorization } of [operator, finance]) {
      const body = { reason: 'mine is over', stoppedAt: both.since, takesBack: 2 };
      const own = await desk.call('POST', `/v1/employers/${company.id}/resume`, authorization, body);
      expect([own.status, own.body.code]).toEqual([409, 'SECOND_PERSON_REQUIRED']);
    }
    for (const unread of [{}, { takesBack: 1 }]) {
      expect(
        await company.as('approver', 'POST', '/resume', {
          reason: 'bank is well',
          stoppedAt: both.since,
          ...unread,
        }),
      ).toMatchObject({
        status: 409,
        body: {
          code: 'OTHER_STOPS_STAND',
          standing: [
            { personId: person(operator.personId), reason: 'bank looks odd' },
            { personId: person(finance.personId), reason: 'wrong file approved' },
          ],
        },
      });
    }
    const resumed = await company.as('approver', 'POST', '/resume', {
      reason: 'both looked into',
      stoppedAt: both.since,
      takesBack: 2,
    });
    expect(resumed).toMatchObject({ status: 200, body: { stopped: null } });
    const switched = (await company.audited())
      .slice(before)
      .filter(({ action }) => action !== 'role.granted');
    expect(switched.map(({ action, person_id, detail }) => [action, person_id, detail.reason])).toEqual([
      ['employer.stopped', operator.personId, 'bank looks odd'],
      ['employer.stopped', finance.personId, 'wrong file approved'],
      ['employer.resumed', company.people.approver.personId, 'both looked into'],
    ]);
  });

  it('keeps the stop of each person also where the clock of the database was set back between them', async () => {
    const other = await desk.employer('Rowan SE');
    await other.as('operator', 'POST', '/stop', { reason: 'bank looks odd' });
    await execute(
      desk.store.superuserUrl,
      `SET session_replication_role = replica;
       UPDATE employer SET stopped_at = stopped_at + interval '1 hour' WHERE name = 'Rowan SE';
       UPDATE audit_entry SET at = at + interval '1 hour'
         WHERE chain_id = (SELECT id FROM employer WHERE name = 'Rowan SE')`,
    );
    await other.as('approver', 'POST', '/stop', { reason: 'wrong file approved' });
    const own = await resumed(other, 'approver', { takesBack: 2 });
    expect(own.body).toMatchObject({ code: 'SECOND_PERSON_REQUIRED', standing: [{}, {}] });
  });

  it('is not turned back by a repetition once it is thrown again, where the answer was lost', async () => {
    const { authorization } = company.people.approver;
    const path = `/v1/employers/${company.id}/resume`;
    const { body } = await company.as('operator', 'POST', '/stop', { reason: 'strange payees' });
    const going = { reason: 'all clear', stoppedAt: body.stopped.since };
    const resume = () => desk.call('POST', path, authorization, going, desk.app, 'resume');
    expect((await resume()).status).toBe(200);
    await execute(desk.store.superuserUrl, LEAVES_UNANSWERED);
    await company.as('operator', 'POST', '/stop', { reason: 'stranger ones' });
    expect(await resume()).toMatchObject({ status: 409, body: { code: 'IDEMPOTENCY_UNFINISHED' } });
    expect((await resumed(company, 'approver')).status).toBe(200);
  });

  it('is not turned back by who read of another stop, which somebody has taken back since, nor by who names none', async () => {
    const { body } = await company.as('operator', 'POST', '/stop', { reason: 'the bank looks odd' });
    const read = { reason: 'the bank is well', stoppedAt: body.stopped.since };
    expect((await company.as('approver', 'POST', '/resume', read)).status).toBe(200);
    await company.as('operator', 'POST', '/stop', { reason: 'two payees are strange' });
    for (const takesBack of [undefined, 1])
      expect(await company.as('approver', 'POST', '/resume', { ...read, takesBack })).toMatchObject({
        status: 409,
        body: { code: 'OTHER_STOPS_STAND', standing: [{ reason: 'two payees are strange' }] },
      });
    const { reason } = read;
    expect((await company.as('approver', 'POST', '/resume', { reason })).status).toBe(422);
    expect((await company.as('preparer', 'GET', '')).body.stopped).toMatchObject({
      reason: 'two payees are strange',
    });
    expect((await resumed(company, 'approver')).status).toBe(200);
  });

  it('is not turned back by any one person when the service threw it, whoever threw it before', async () => {
    await company.query(`UPDATE employer SET stopped_at = clock_timestamp(), stopped_reason = 'CREDENTIALS'`);
    const refused = await resumed(company, 'operator');
    expect(refused).toMatchObject({ status: 409, body: { code: 'ATTENTION_DECIDES' } });
    await company.query(`UPDATE employer SET stopped_at = NULL, stopped_reason = NULL`);
  });

  it('thrown by a person after the service threw it stays when the attention alone is resolved', async () => {
    await company.query(`UPDATE employer SET stopped_at = clock_timestamp(), stopped_reason = 'CREDENTIALS'`);
    const stopped = await company.as('operator', 'POST', '/stop', { reason: 'we look into it' });
    expect(stopped.body).toMatchObject({ stopped: { reason: 'we look into it' } });
    expect((await resumed(company, 'operator')).status).toBe(409);
    expect((await resumed(company, 'approver')).body).toMatchObject({ stopped: null });
  });

  it('thrown by a person is turned back while something is asked that stopped no more than a run, and not while something stops everything', async () => {
    const foreign = newId();
    await company.query(
      `INSERT INTO attention (employer_id, id, kind, subject_id, happened, certain, ask_bank)
       VALUES ($1, $2, 'FOREIGN_RECORD', $2, 'before its submit', 'none of it is paid', 'why?')`,
      [company.uuid, foreign],
    );
    await company.as('operator', 'POST', '/stop', { reason: 'a look first' });
    expect(await resumed(company, 'approver')).toMatchObject({ status: 200, body: { stopped: null } });
    await company.query(
      `INSERT INTO service_stop (id, employer_id, kind, subject_id) VALUES ($2, $1, 'FOREIGN_RECORD', $2)`,
      [company.uuid, foreign],
    );
    await company.as('operator', 'POST', '/stop', { reason: 'a look first' });
    const refused = await resumed(company, 'approver');
    expect(refused).toMatchObject({
      status: 409,
      body: { code: 'ATTENTION_DECIDES', attentionIds: [showId('att', foreign)] },
    });
    await execute(desk.store.superuserUrl, 'DELETE FROM service_stop; DELETE FROM attention');
    await company.query(`UPDATE employer SET stopped_at = NULL, stopped_reason = NULL`);
  });

  it('of everything is not turned back by an administrator when the service threw it', async () => {
    await company.query(
      `UPDATE service_switch SET submits_off = true, reason = 'INVARIANT_BREACH', changed_at = clock_timestamp()`,
    );
    const refused = await resumedService();
    expect(refused).toMatchObject({ status: 409, body: { code: 'ATTENTION_DECIDES' } });
    await company.query(`UPDATE service_switch SET submits_off = false, reason = NULL`);
  });

  it('of everything tells administrators, and nobody else, of which employers the attention is', async () => {
    await company.query(
      `INSERT INTO service_stop (id, employer_id, kind, subject_id) VALUES ($1, $2, 'FOREIGN_RECORD', $1)`,
      [newId(), company.uuid],
    );
    await company.query(`UPDATE service_switch SET submits_off = true, reason = 'FOREIGN_RECORD'`);
    const stop = { employerId: showId('emp', company.uuid), kind: 'FOREIGN_RECORD' };
    const told = await desk.call('GET', '/v1/service', desk.administrator);
    expect(told.body.stops).toMatchObject([stop]);
    expect(
      (await desk.call('GET', '/v1/service', company.people.operator.authorization)).body.stops,
    ).toBeNull();
    const refused = await resumedService();
    expect(refused).toMatchObject({ status: 409, body: { stops: [stop] } });
    await execute(desk.store.superuserUrl, 'DELETE FROM service_stop');
    await company.query(`UPDATE service_switch SET submits_off = false, reason = NULL`);
  });

  it('wakes the work of its employer, and of no other, when it is turned back', async () => {
    const other = await desk.employer('Larch SpA');
    const [mine, theirs] = [newId(), newId()];
    await parked(company.uuid, mine);
    await parked(other.uuid, theirs);
    await company.as('operator', 'POST', '/stop', { reason: 'a look first' });
    expect(await due()).toEqual([]);
    await resumed(company, 'approver');
    expect(await due()).toEqual([mine]);
    await desk.call('POST', '/v1/service/stop', desk.administrator, { reason: 'bank incident' });
    await resumedService();
    expect(await due()).toEqual([theirs]);
  });

  async function parked(employerId: string, subjectId: string): Promise<void> {
    await desk.database.inEmployer(employerId, async (tx) => wake(tx, 'RUN', [subjectId]));
    await desk.database.inEmployer(employerId, (tx) =>
      tx.query(`UPDATE lease SET wake_at = 'infinity' WHERE subject_id = $1`, [subjectId]),
    );
  }

  async function due(): Promise<string[]> {
    const claims = await desk.app.get(Leases).claim('RUN', 'test', 10, 1_000);
    return claims.map(({ subjectId }) => subjectId);
  }
});

describe('the kill switch of the installation', () => {
  it("is an administrator's, is seen by everybody, and is audited", async () => {
    const company = await desk.employer('Maple LLC');
    const { authorization } = company.people.operator;
    const reason = { reason: 'the bank reports doubles' };
    expect((await desk.call('POST', '/v1/service/stop', authorization, reason)).status).toBe(403);
    expect((await desk.call('POST', '/v1/service/stop', desk.administrator, reason)).status).toBe(200);
    await desk.call('POST', '/v1/service/stop', desk.administrator, reason);
    const seen = await desk.call('GET', '/v1/service', authorization);
    expect(seen.body).toMatchObject({ submitsOff: true, ...reason });
    expect((await resumedService()).body).toMatchObject({ submitsOff: false, reason: null });
    expect((await resumedService()).status).toBe(409);
    const entries = await desk.database.outsideEmployers((tx) =>
      tx.query<{ action: string; reason: string }>(
        `SELECT action, detail->>'reason' AS reason FROM audit_entry ORDER BY seq DESC LIMIT 2`,
      ),
    );
    expect(entries).toEqual([
      { action: 'service.resumed', reason: 'looked into' },
      { action: 'service.stopped', reason: 'the bank reports doubles' },
    ]);
  });

  it('keeps the stop of each administrator, and is turned back only by one who knows of all of them', async () => {
    const other = await makePerson(desk.database, 'Other root', {}, true);
    const call = (verb: string, authorization: string, body: Body) =>
      desk.call('POST', `/v1/service/${verb}`, authorization, body);
    const first = await call('stop', desk.administrator, { reason: 'bank looks odd' });
    const { changedAt } = first.body;
    const both = { submitsOff: true, reason: 'bank looks odd; wrong file approved', changedAt };
    const again = await call('stop', other.authorization, { reason: 'wrong file approved' });
    expect(again).toMatchObject({ status: 200, body: both });
    expect((await desk.call('GET', '/v1/service', desk.administrator)).body).toMatchObject(both);
    const unread = await resumedService();
    expect([unread.status, unread.body.code]).toEqual([409, 'OTHER_STOPS_STAND']);
    expect(unread.body.standing).toMatchObject([
      { reason: 'bank looks odd' },
      { reason: 'wrong file approved', personId: person(other.personId) },
    ]);
    expect((await resumedService({ takesBack: 2 })).body).toMatchObject({ submitsOff: false, reason: null });
  });
});
