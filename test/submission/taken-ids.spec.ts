import { toldOfTaken } from '../../src/submission/taken-ids';
import { idsOf } from '../database/two-employers';
import { execute, select } from '../support/database';
import { nothingAsked } from '../pay-run/nothing-asked';

const ours = idsOf(1);

describe('of an id that the bank gave out twice', () => {
  it.each([
    ['another instruction of the employer has it', 'i.id <> mine.id', 'another'],
    ['the same instruction has it', 'i.id = mine.id', 'same'],
    ['nobody of the employer has it', 'false', 'none'],
  ] as const)('the bank is asked by the instructions that have it, where %s', async (_, other, has) => {
    const office = await nothingAsked();
    try {
      const { superuserUrl } = office.server;
      const [one] = await select<{ instruction: string; bank: string; planned: string; row: number }>(
        superuserUrl,
        `SELECT instruction_id AS instruction, bank_instruction_id AS bank, planned_instruction_id AS planned, row_no AS row
         FROM bank_payment b JOIN instruction i ON i.id = b.instruction_id
         WHERE b.employer_id = '${ours.employer}' AND (SELECT count(*) FROM bank_payment o WHERE o.instruction_id = i.id) > 1
           AND bank_instruction_id IS NOT NULL ORDER BY b.instruction_id, row_no LIMIT 1`,
      );
      const [given] = await select<{ id: string; bank: string }>(
        superuserUrl,
        `SELECT b.bank_payment_id AS id, i.bank_instruction_id AS bank FROM bank_payment b
         JOIN instruction i ON i.id = b.instruction_id, (SELECT * FROM instruction WHERE id = '${one!.instruction}') mine
         WHERE i.employer_id = mine.employer_id AND b.bank_payment_id IS NOT NULL AND i.bank_instruction_id IS NOT NULL
           AND NOT (i.id = mine.id AND b.row_no = ${one!.row}) AND ${other} LIMIT 1`,
      );
      const id = given?.id ?? 'one-of-another-employer';
      await execute(
        superuserUrl,
        `SET session_replication_role = replica;
         UPDATE bank_payment SET bank_payment_id = NULL, add_outcome = 'IN_DOUBT', add_doubt = 'the id ${id} of another payment'
         WHERE instruction_id = '${one!.instruction}' AND row_no = ${one!.row}`,
      );
      const told = await office.database.inEmployer(ours.employer, (tx) =>
        toldOfTaken(tx, { plannedInstructionId: one!.planned }, undefined),
      );
      const words = {
        another: `"${id}" in customer instruction ${one!.bank} and in customer instruction ${given?.bank}?`,
        same: `"${id}" twice in customer instruction ${one!.bank}?`,
        none: `"${id}" in customer instruction ${one!.bank} and in another instruction?`,
      };
      expect(told!.askBank).toContain(words[has]);
    } finally {
      await office.close();
    }
  });
});
