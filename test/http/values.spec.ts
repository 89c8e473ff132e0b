import fc from 'fast-check';
import { z } from 'zod';
import { decodeCursor, encodeCursor, pageOf } from '../../src/http/cursor';
import { assertIfMatch, etagOf } from '../../src/http/etag';
import { idField, IdPrefix, readId, showId } from '../../src/http/prefixed-id';
import { Problem } from '../../src/http/problem';

const prefix = fc.constantFrom<IdPrefix>('run', 'pay', 'emp', 'file', 'per', 'apr');

function problemOf(work: () => unknown): Problem {
  try {
    work();
  } catch (error) {
    if (error instanceof Problem) return error;
  }
  throw new Error('no problem was thrown');
}

describe('prefixed ids', () => {
  it('read back as the UUID they show', () => {
    fc.assert(
      fc.property(prefix, fc.uuid(), (kind, uuid) => {
        const shown = showId(kind, uuid);
        expect(shown).toMatch(/^[a-z]+_[0-9a-f]{32}$/);
        expect(readId(kind, shown)).toBe(uuid);
      }),
    );
  });

  it('are read from nothing else', () => {
    fc.assert(
      fc.property(prefix, fc.string(), (kind, text) => {
        const id = `${kind}_${text}`;
        fc.pre(!/^[a-z]+_[0-9a-f]{32}$/.test(id));
        expect(problemOf(() => readId(kind, id)).status).toBe(404);
      }),
    );
  });

  it('are a fault of their field in a body', () => {
    const field = idField('acc');
    expect(field.safeParse(showId('acc', '01890a5d-ac96-774b-bcce-b302099a8057')).data).toBe(
      '01890a5d-ac96-774b-bcce-b302099a8057',
    );
    expect(field.safeParse('01890a5d-ac96-774b-bcce-b302099a8057').success).toBe(false);
  });
});

describe('pages', () => {
  const position = z.object({ seq: z.int().min(1) });

  it('walk a list once, whole and in order, at any page size', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 1, max: 20 }), (length, limit) => {
        const list = Array.from({ length }, (_, index) => ({ seq: index + 1 }));
        const seen: { seq: number }[] = [];
        let cursor: string | null = encodeCursor({ seq: 1 });
        for (let after = 0; cursor !== null;) {
          const page = pageOf(list.slice(after, after + limit + 1), limit, ({ seq }) => ({ seq }));
          expect(page.items.length).toBeLessThanOrEqual(limit);
          seen.push(...page.items);
          cursor = page.nextCursor;
          if (cursor !== null) after = decodeCursor(cursor, position).seq;
        }
        expect(seen).toEqual(list);
      }),
    );
  });

  it('take no cursor that the list did not give out', () => {
    for (const forged of [
      '',
      'x',
      encodeCursor({ seq: 0 }),
      encodeCursor({ seq: '1; DROP' }),
      encodeCursor({}),
    ]) {
      expect(problemOf(() => decodeCursor(forged, position))).toMatchObject({
        status: 422,
        code: 'CURSOR_INVALID',
      });
    }
  });
});

describe('entity tags', () => {
  it('let a change through that was made to the current revision', () => {
    for (const header of [undefined, '"7"', '*', '"6", "7"']) {
      expect(() => assertIfMatch(header, 7n)).not.toThrow();
    }
    expect(etagOf(7n)).toBe('"7"');
  });

  it('stop a change made to any other revision', () => {
    for (const header of ['"6"', '7', 'W/"7"', '', '"70"']) {
      const problem = problemOf(() => assertIfMatch(header, 7n));
      expect([problem.status, problem.code]).toEqual([412, 'PRECONDITION_FAILED']);
    }
  });
});
