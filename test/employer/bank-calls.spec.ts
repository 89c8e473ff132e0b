import type { HttpResult } from '../../src/bank/http';
import { outcomeOf } from '../../src/bank/outcome';
import { writeOutcome } from '../../src/employer/bank-calls';
import { idsOf } from '../database/two-employers';
import { NothingAsked, nothingAsked } from '../pay-run/nothing-asked';
import { select } from '../support/database';

const { employer, call } = idsOf(1);
let office: NothingAsked;
beforeAll(async () => {
  office = await nothingAsked();
});
afterAll(() => office.close());

describe('what is kept of an answer that was no yes', () => {
  it.each([
    ['its words', 422, '{"code":"E1","message":"No.","hint":"Ask."}', 'The bank answered 422 E1: No. Ask.'],
    ['its body where it has no words', 422, '{"why":"No."}', 'The bank answered 422: {"why":"No."}'],
    ['its body where it is a doubt', 500, 'No DE89370400440532013000', 'status 500: No DE…3000'],
    ['nothing more where it is empty', 500, '', 'status 500'],
  ])('is %s, masked', async (_what, status, text, kept) => {
    const answer: HttpResult = { kind: 'answer', status, text, header: () => undefined };
    const outcome = outcomeOf(answer, undefined);
    await office.database.inEmployer(employer, (tx) => writeOutcome(tx, call, outcome));
    const written = `SELECT outcome_detail AS kept FROM bank_call WHERE id = '${call}'`;
    expect(await select(office.server.superuserUrl, written)).toEqual([{ kept }]);
  });
});
