import { trials } from './trials';
import { idsOf, insertion, secondRows } from './two-employers';

const INSTRUCTIONS = 300;
const trial = trials();
const { instruction, planned_instruction: plan } = secondRows(1);
const [FIRST, NEXT, BUILT] = idsOf(1).fresh;

/** As many more instructions of the run, each of a row of its own. */
const MANY = `
  INSERT INTO planned_instruction SELECT p.*
  FROM planned_instruction s, generate_series(1, ${INSTRUCTIONS}) AS n, LATERAL jsonb_populate_record(s, jsonb_build_object(
    'id', md5('plan' || n)::uuid, 'ordinal', 100 + n, 'first_row', 100 + n, 'last_row', 100 + n)) AS p
  WHERE s.id = '${FIRST}';
  SET LOCAL session_replication_role = replica;
  INSERT INTO instruction SELECT p.*
  FROM instruction s, generate_series(1, ${INSTRUCTIONS}) AS n, LATERAL jsonb_populate_record(s, jsonb_build_object(
    'id', md5('built' || n)::uuid, 'planned_instruction_id', md5('plan' || n)::uuid,
    'bank_instruction_id', 'many-' || n)) AS p
  WHERE s.planned_instruction_id = '${FIRST}';
  SET LOCAL session_replication_role = DEFAULT`;

async function rowsLookedAt(): Promise<number> {
  const { rows } = await trial.client.query<{ rows: number }>(
    `SELECT sum(seq_tup_read + idx_tup_fetch)::int AS rows FROM pg_stat_xact_user_tables
     WHERE relname IN ('planned_instruction', 'instruction')`,
  );
  return rows[0]!.rows;
}

it('compares no instruction with each other one by a plan that was made while there were none', async () => {
  const { client } = trial;
  await client.query(`SET LOCAL plan_cache_mode = force_generic_plan;
    TRUNCATE planned_instruction, instruction CASCADE;
    ANALYZE planned_instruction, instruction`);
  const planned = { ...plan, run_version: 2, first_row: 9, last_row: 9 };
  await client.query(insertion('planned_instruction', { ...planned, id: FIRST }));
  await client.query(insertion('instruction', { ...instruction, planned_instruction_id: FIRST }));
  await client.query(MANY);
  await client.query(
    insertion('planned_instruction', { ...planned, id: NEXT, first_row: 8, last_row: 8, ordinal: 99 }),
  );
  const before = await rowsLookedAt();
  await client.query(
    insertion('instruction', {
      ...instruction,
      id: BUILT,
      planned_instruction_id: NEXT,
      bank_instruction_id: 'last',
    }),
  );
  // The plans of the run a few times: each with each would be as often as there are instructions.
  expect((await rowsLookedAt()) - before).toBeLessThan(5 * INSTRUCTIONS);
});
