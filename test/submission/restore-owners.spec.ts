import { PersonalData } from '../../src/database/personal-data';
import { RestoreOwners } from '../../src/submission/restore-owners';
import { Unknown } from '../../src/submission/restore-sweep';
import { idsOf, RESTORE } from '../database/two-employers';
import { nothingAsked } from '../pay-run/nothing-asked';
import { select } from '../support/database';
import { WHOLE_SWEEP } from './whole-sweep';

const ours = idsOf(1);
const READ = 'SELECT bank_read_at IS NOT NULL AS read FROM database_restore WHERE id = $1';

it('holds against employers that are made after a restore what may be submitted and no record has', async () => {
  const { server, database, close } = await nothingAsked();
  const owners = new RestoreOwners(
    database,
    new PersonalData({ PAYRUN_HASH_KEY: 'a key of at least thirty-two letters' }),
  );
  const shown = (bankInstructionId: string, instructionId?: string, status = 'SUB_REQUIRED'): Unknown => ({
    bankInstructionId,
    instructionId,
    reference: undefined,
    debtorIban: undefined,
    status,
    submitted: status === 'SUB_REQUIRED',
    isUnclear: false,
    payments: 1,
  });
  const unknown = [
    shown('of-a-known-run', ours.instruction[0]),
    shown('of-none'),
    shown('of-a-known-run-before', ours.instruction[0], 'INITIATED'),
    shown('of-none-before', undefined, 'INITIATED'),
    shown('of-none-ended', undefined, 'INI_NOT_IS_VALID'),
  ];
  const sweep = { ...WHOLE_SWEEP, unknown, unidentified: ['of-nobody'] };
  const isRead = async () =>
    (await select<{ read: boolean }>(server.superuserUrl, READ, [RESTORE])).map(({ read }) => read);
  await owners.keepForgotten(RESTORE, { ...sweep, showsUnsubmitted: false }, await owners.of(unknown));
  expect(await isRead()).toEqual([false]);
  await owners.keepForgotten(RESTORE, sweep, await owners.of(unknown));
  expect(await isRead()).toEqual([true]);
  expect(
    await select(server.superuserUrl, 'SELECT bank_instruction_id AS id FROM forgotten_debit ORDER BY 1'),
  ).toEqual([{ id: 'of-nobody' }, { id: 'of-none' }, { id: 'of-none-before' }]);
  await close();
});
