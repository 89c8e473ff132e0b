import fc from 'fast-check';
import request from 'supertest';
import { append, appendAll, INSTALLATION_CHAIN } from '../../src/audit/audit';
import { AuditEntry, canonicalJson, GENESIS, hashOfEntry } from '../../src/audit/audit-entry';
import { AuditModule } from '../../src/audit/audit.module';
import { CHAIN_START, verifyChain, verifySlice } from '../../src/audit/verify-chain';
import { IdentityModule } from '../../src/identity/identity.module';
import { EmployerRole } from '../../src/http/allow';
import { showId } from '../../src/http/prefixed-id';
import { identityApp, makeEmployer, makePerson } from '../http/test-app';
import { execute } from '../support/database';

let running: Awaited<ReturnType<typeof identityApp>>;
let nthEmployer = 0;

beforeAll(async () => {
  running = await identityApp([IdentityModule, AuditModule], []);
});
afterAll(() => running.close());

const newEmployer = () => makeEmployer(running.database, `Employer ${(nthEmployer += 1)}`);
const record = (employerId: string, n: number, personId?: string) =>
  running.database.inEmployer(employerId, (tx) =>
    append(tx, {
      personId,
      action: 'pay-run.approved',
      subject: `run_${n}`,
      detail: { version: n, codes: ['a', null] },
    }),
  );
const verify = (employerId: string) =>
  running.database.inEmployer(employerId, (tx) => verifyChain(tx, employerId));

async function chainOf(length: number): Promise<string> {
  const employerId = await newEmployer();
  for (let n = 1; n <= length; n += 1) await record(employerId, n);
  return employerId;
}

/** What only somebody with the superuser's rights can do. */
async function tamper(employerId: string, sql: string): Promise<void> {
  await execute(
    running.store.superuserUrl,
    `BEGIN; ALTER TABLE audit_entry DISABLE TRIGGER append_only;
     ${sql.replaceAll('$1', `'${employerId}'`)};
     ALTER TABLE audit_entry ENABLE TRIGGER append_only; COMMIT`,
  );
}

describe('an audit chain', () => {
  it('verifies from its first entry to its last', async () => {
    expect(await verify(await newEmployer())).toEqual({ entries: 0 });
    expect(await verify(await chainOf(5))).toEqual({ entries: 5 });
  });

  it('numbers entries without a gap when many are appended at once', async () => {
    const employerId = await newEmployer();
    const numbers = await Promise.all(Array.from({ length: 12 }, (_, n) => record(employerId, n)));
    expect(numbers.map(Number).sort((a, b) => a - b)).toEqual(Array.from({ length: 12 }, (_, n) => n + 1));
    expect(await verify(employerId)).toEqual({ entries: 12 });
  });

  it('takes many entries of a transaction in their order, by as few statements as one', async () => {
    const [employerId, other] = [await chainOf(2), await newEmployer()];
    const { personId } = await makePerson(running.database, 'Ann', {});
    const actions = Array.from({ length: 30 }, (_, n) => ({
      action: 'pay.released',
      subject: `E-"${n}\\`,
      detail: { n, reason: 'a {new}, "account"' },
      ...(n % 2 === 0 && { personId }),
    }));
    const appended = (to: string, some: typeof actions) =>
      running.database.inEmployer(to, async (tx) => {
        const query = jest.fn(tx.query);
        await appendAll({ ...tx, query: query as typeof tx.query }, some);
        return query.mock.calls.length;
      });
    expect([await appended(employerId, actions), await appended(other, actions.slice(0, 1))]).toEqual([2, 2]);
    const rows = await running.database.inEmployer(employerId, (tx) =>
      tx.query(
        'SELECT action, subject, detail, person_id AS "personId" FROM audit_entry WHERE seq > 2 ORDER BY seq',
      ),
    );
    expect(rows).toEqual(actions.map((one) => ({ personId: null, ...one })));
    expect([await verify(employerId), await verify(other)]).toEqual([{ entries: 32 }, { entries: 1 }]);
    expect(await record(employerId, 33)).toBe(33n);
    expect(await verify(employerId)).toEqual({ entries: 33 });
  });

  it('takes nothing from a transaction that did not commit', async () => {
    const employerId = await chainOf(2);
    const failed = running.database.inEmployer(employerId, async (tx) => {
      await append(tx, { action: 'pay-run.cancelled', subject: 'run_9', detail: {} });
      throw new Error('the work failed');
    });
    await expect(failed).rejects.toThrow('the work failed');
    expect(await record(employerId, 3)).toBe(3n);
    expect(await verify(employerId)).toEqual({ entries: 3 });
  });

  it('keeps what concerns the installation apart from every employer', async () => {
    const employerId = await chainOf(1);
    const seq = await running.database.outsideEmployers((tx) =>
      append(tx, { action: 'person.created', subject: 'per_1', detail: {} }),
    );
    const own = await running.database.outsideEmployers((tx) => verifyChain(tx, INSTALLATION_CHAIN));
    expect([seq, own]).toEqual([1n, { entries: 1 }]);
    const foreign = await running.database.inEmployer(employerId, (tx) =>
      verifyChain(tx, INSTALLATION_CHAIN),
    );
    expect(foreign).toEqual({ entries: 0 });
  });

  it('is verified in parts, from where the last one ended, and from the start again after its head', async () => {
    const employerId = await chainOf(4);
    const slice = (from: typeof CHAIN_START, atMost: number) =>
      running.database.inEmployer(employerId, (tx) => verifySlice(tx, employerId, from, atMost));
    const whole = { entries: 4, breaks: [], next: CHAIN_START };
    expect(await slice(CHAIN_START, 0)).toEqual({ ...whole, entries: 0 });
    expect(await slice(CHAIN_START, 1)).toEqual(whole);
    const [second] = await running.database.inEmployer(employerId, (tx) =>
      tx.query<{ entry_hash: Buffer }>('SELECT entry_hash FROM audit_entry WHERE seq = 2'),
    );
    const middle = { seq: 2n, hash: second!.entry_hash };
    expect(await slice(middle, 1)).toEqual(whole);
    await tamper(employerId, `UPDATE audit_entry SET subject = 'x' WHERE chain_id = $1 AND seq = 1`);
    expect(await slice(middle, 1)).toEqual(whole);
    expect(await slice(CHAIN_START, 1)).toEqual({ ...whole, breaks: [{ at: 1n, entries: 1 }] });
    await tamper(employerId, `UPDATE audit_entry SET subject = 'x' WHERE chain_id = $1 AND seq = 4`);
    expect(await slice(middle, 1)).toEqual({ ...whole, breaks: [{ at: 4n, entries: 1 }] });
  });

  it('is verified on behind each break, of which it says how many entries in a row are missing or changed', async () => {
    const employerId = await chainOf(12);
    const breaks = () =>
      running.database.inEmployer(employerId, async (tx) => {
        const verdict = await verifySlice(tx, employerId, CHAIN_START, 1);
        return verdict.breaks.map(({ at, entries }) => [Number(at), entries]);
      });
    await tamper(
      employerId,
      `UPDATE audit_entry SET subject = 'x' WHERE chain_id = $1 AND seq IN (2, 6);
       DELETE FROM audit_entry WHERE chain_id = $1 AND seq IN (4, 5, 11, 12);
       UPDATE audit_entry SET previous_hash = sha256('x') WHERE chain_id = $1 AND seq = 8`,
    );
    const found = [
      [2, 1],
      [4, 3],
      [8, 1],
      [11, 2],
    ];
    expect(await breaks()).toEqual(found);
    await record(employerId, 13);
    expect(await breaks()).toEqual(found);
    await tamper(
      employerId,
      `UPDATE audit_entry SET seq = 20 WHERE chain_id = $1 AND seq = 13;
       UPDATE audit_head SET last_seq = 10, last_hash = (
         SELECT entry_hash FROM audit_entry WHERE chain_id = $1 AND seq = 10) WHERE chain_id = $1`,
    );
    expect(await breaks()).toEqual([...found.slice(0, -1), [20, 1]]);
  });

  it('cannot be changed by the service', async () => {
    const employerId = await chainOf(1);
    for (const sql of [
      `UPDATE audit_entry SET subject = 'x'`,
      'DELETE FROM audit_entry',
      'DELETE FROM audit_head',
    ]) {
      await expect(running.database.inEmployer(employerId, (tx) => tx.query(sql))).rejects.toThrow(
        /permission denied/,
      );
    }
  });

  it.each([
    [
      'a changed detail',
      `UPDATE audit_entry SET detail = '{"version": 2}' WHERE chain_id = $1 AND seq = 3`,
      3n,
    ],
    [
      'a changed time',
      `UPDATE audit_entry SET at = at + interval '1 ms' WHERE chain_id = $1 AND seq = 1`,
      1n,
    ],
    ['a changed action', `UPDATE audit_entry SET action = 'x' WHERE chain_id = $1 AND seq = 5`, 5n],
    ['an entry taken out', `DELETE FROM audit_entry WHERE chain_id = $1 AND seq = 2`, 2n],
    ['the first one taken out', `DELETE FROM audit_entry WHERE chain_id = $1 AND seq = 1`, 1n],
    ['the end cut off', `DELETE FROM audit_entry WHERE chain_id = $1 AND seq >= 4`, 4n],
    ['all of it gone', `DELETE FROM audit_entry WHERE chain_id = $1`, 1n],
    [
      'two entries exchanged',
      `UPDATE audit_entry SET seq = seq + 100 WHERE chain_id = $1 AND seq IN (2, 3);
       UPDATE audit_entry SET seq = CASE seq WHEN 102 THEN 3 ELSE 2 END WHERE chain_id = $1 AND seq > 100`,
      2n,
    ],
    [
      'an entry put in at the end',
      `INSERT INTO audit_entry SELECT chain_id, 6, at, person_id, action, subject, detail, entry_hash, previous_hash
       FROM audit_entry WHERE chain_id = $1 AND seq = 5`,
      6n,
    ],
    ['a head that was set back', `UPDATE audit_head SET last_seq = 4 WHERE chain_id = $1`, 5n],
    ['a head that is gone', `DELETE FROM audit_head WHERE chain_id = $1`, 1n],
  ])('shows %s, and where', async (_, sql, brokenAt) => {
    const employerId = await chainOf(5);
    await tamper(employerId, sql);
    expect(await verify(employerId)).toEqual({ entries: Number(brokenAt) - 1, brokenAt });
  });

  it('verifies across batches', async () => {
    const employerId = await newEmployer();
    const actions = Array.from({ length: 1_001 }, (_, n) => ({ action: 'a', subject: 's', detail: { n } }));
    await running.database.inEmployer(employerId, (tx) => appendAll(tx, actions));
    expect(await verify(employerId)).toEqual({ entries: 1_001 });
    await tamper(employerId, `UPDATE audit_entry SET detail = '{}' WHERE chain_id = $1 AND seq = 1001`);
    expect(await verify(employerId)).toEqual({ entries: 1_000, brokenAt: 1_001n });
  });

  it('verifies whatever JSON was recorded, after its trip through the database', async () => {
    const employerId = await newEmployer();
    const detail = fc.dictionary(
      fc.string({ unit: 'grapheme' }).filter((key) => !key.includes('\0')),
      fc
        .jsonValue({ noUnicodeString: false, stringUnit: 'grapheme' })
        .filter((value) => !JSON.stringify(value).includes('\\u0000')),
    );
    await fc.assert(
      fc.asyncProperty(detail, async (value) => {
        await running.database.inEmployer(employerId, (tx) =>
          append(tx, { action: 'a', subject: 's', detail: value }),
        );
      }),
      { numRuns: 40 },
    );
    expect(await verify(employerId)).toEqual({ entries: expect.any(Number) });
  });
});

describe('the hash of an entry', () => {
  const entry: AuditEntry = {
    chainId: INSTALLATION_CHAIN,
    seq: 1n,
    at: new Date('2026-09-25T10:00:00.123Z'),
    personId: null,
    action: 'a',
    subject: 's',
    detail: { b: 1, a: { d: [{ z: 1, y: 2 }], c: null } },
  };

  it('does not depend on the order of keys', () => {
    const other = { ...entry, detail: { a: { c: null, d: [{ y: 2, z: 1 }] }, b: 1 } };
    expect(hashOfEntry(GENESIS, other)).toEqual(hashOfEntry(GENESIS, entry));
    expect(canonicalJson(entry.detail)).toBe('{"a":{"c":null,"d":[{"y":2,"z":1}]},"b":1}');
  });

  it('depends on everything else', () => {
    const changes: Partial<AuditEntry>[] = [
      { chainId: '01890a5d-ac96-774b-bcce-b302099a8057' },
      { seq: 2n },
      { at: new Date('2026-09-25T10:00:00.124Z') },
      { personId: INSTALLATION_CHAIN },
      { action: 'as', subject: '' },
      { subject: 't' },
      { detail: { b: 1, a: { d: [{ y: 2, z: 1 }], c: false } } },
    ];
    const hashes = changes.map((change) => hashOfEntry(GENESIS, { ...entry, ...change }).toString('hex'));
    hashes.push(
      hashOfEntry(Buffer.alloc(32, 1), entry).toString('hex'),
      hashOfEntry(GENESIS, entry).toString('hex'),
    );
    expect(new Set(hashes).size).toBe(hashes.length);
  });
});

describe('the audit over HTTP', () => {
  it('is read page by page, newest first, by finance and operators', async () => {
    const employerId = await newEmployer();
    const fay = await makePerson(running.database, 'Fay', { [employerId]: ['finance'] });
    const pat = await makePerson(running.database, 'Pat', { [employerId]: ['preparer'] });
    for (const n of [1, 2, 3]) await record(employerId, n, n === 3 ? pat.personId : undefined);
    const path = `/v1/employers/${showId('emp', employerId)}/audit`;
    const get = (query: string, who = fay) =>
      request(running.server)
        .get(path + query)
        .set('Authorization', who.authorization);

    const first = await get('?limit=2');
    expect(
      first.body.items.map(({ seq, person, subject }: Record<string, unknown>) => [seq, person, subject]),
    ).toEqual([
      [3, showId('per', pat.personId), 'run_3'],
      [2, null, 'run_2'],
    ]);
    const second = await get(`?limit=2&cursor=${first.body.nextCursor}`);
    expect([second.body.items.length, second.body.items[0].seq, second.body.nextCursor]).toEqual([
      1,
      1,
      null,
    ]);
    expect(second.body.items[0].detail).toEqual({ version: 1, codes: ['a', null] });
    expect((await get('', pat)).status).toBe(403);
    expect(JSON.parse((await get('?cursor=nonsense')).text).code).toBe('CURSOR_INVALID');

    expect((await get('/verification')).body).toEqual({ intact: true, entries: 3, brokenAt: null });
    await tamper(employerId, `UPDATE audit_entry SET subject = 'run_8' WHERE chain_id = $1 AND seq = 2`);
    expect((await get('/verification')).body).toEqual({ intact: false, entries: 1, brokenAt: 2 });
  });

  it('keeps from operators every hash by which an amount could be tried', async () => {
    const employerId = await newEmployer();
    const detail = { payments: 1, rootHash: 'ab'.repeat(32), file: { sha256: 'cd'.repeat(32) } };
    await running.database.inEmployer(employerId, (tx) =>
      append(tx, { action: 'pay-run.approved', subject: 'run_1', detail }),
    );
    const shownTo = async (role: EmployerRole) => {
      const { authorization } = await makePerson(running.database, `Any ${role}`, { [employerId]: [role] });
      const path = `/v1/employers/${showId('emp', employerId)}/audit`;
      const { body } = await request(running.server).get(path).set('Authorization', authorization);
      return body.items[0];
    };
    expect(await shownTo('finance')).toMatchObject({ hash: expect.stringMatching(/^[0-9a-f]{64}$/), detail });
    expect(await shownTo('operator')).toMatchObject({
      action: 'pay-run.approved',
      subject: 'run_1',
      detail: { payments: 1, rootHash: null, file: { sha256: null } },
      hash: null,
    });
  });

  it('of the installation is read page by page and computed again, by administrators', async () => {
    const ada = await makePerson(running.database, 'Ada', {}, true);
    const fay = await makePerson(running.database, 'Fay', { [await chainOf(1)]: ['finance'] });
    const stop = (reason: string) =>
      running.database.outsideEmployers((tx) =>
        append(tx, {
          personId: ada.personId,
          action: 'service.stopped',
          subject: 'service',
          detail: { reason },
        }),
      );
    await stop('first');
    const last = Number(await stop('second'));
    const get = (query: string, who = ada) =>
      request(running.server).get(`/v1/service/audit${query}`).set('Authorization', who.authorization);

    const first = await get('?limit=1');
    expect(first.body.items).toEqual([
      expect.objectContaining({
        seq: last,
        person: showId('per', ada.personId),
        action: 'service.stopped',
        detail: { reason: 'second' },
      }),
    ]);
    const second = await get(`?limit=1&cursor=${first.body.nextCursor}`);
    expect([second.body.items[0].seq, second.body.items[0].detail]).toEqual([last - 1, { reason: 'first' }]);
    for (const path of ['', '/verification']) expect((await get(path, fay)).status).toBe(403);

    expect((await get('/verification')).body).toEqual({ intact: true, entries: last, brokenAt: null });
    await tamper(
      INSTALLATION_CHAIN,
      `UPDATE audit_entry SET detail = '{}' WHERE chain_id = $1 AND seq = ${last}`,
    );
    expect((await get('/verification')).body).toEqual({ intact: false, entries: last - 1, brokenAt: last });
  });

  it('shows nobody the chain of another employer', async () => {
    const [own, foreign] = [await newEmployer(), await chainOf(1)];
    const fay = await makePerson(running.database, 'Fay', { [own]: ['finance'] });
    const answer = await request(running.server)
      .get(`/v1/employers/${showId('emp', foreign)}/audit`)
      .set('Authorization', fay.authorization);
    expect(answer.status).toBe(404);
  });
});
