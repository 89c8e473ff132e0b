import { PersonalData } from '../../src/database/personal-data';
import { RestoreOwners } from '../../src/restore/restore-owners';
import { Unknown } from '../../src/restore/restore-sweep';
import { idsOf, RESTORE } from '../database/two-employers';
import { nothingAsked } from '../pay-run/nothing-asked';
import { select } from '../support/database';
import { WHOLE_SWEEP } from './whole-sweep';

const ours = idsOf(1);
const READ =
  'SELECT bank_read_at IS NOT NULL AS read, unsubmitted_shown_at AS shown FROM database_restore WHERE id = $1';

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
  const kept = () => select(server.superuserUrl, READ, [RESTORE]);
  await owners.keepForgotten(RESTORE, { ...sweep, showsUnsubmitted: false }, await owners.of(unknown));
  expect(await kept()).toEqual([{ read: false, shown: null }]);
  await owners.keepForgotten(RESTORE, { ...sweep, readable: false }, await owners.of(unknown));
  const [shown_] = await kept();
  expect(shown_).toEqual({ read: false, shown: expect.any(Date) });
  await owners.keepForgotten(RESTORE, sweep, await owners.of(unknown));
  expect(await kept()).toEqual([{ ...shown_, read: true }]);
  expect(
    await select(server.superuserUrl, 'SELECT bank_instruction_id AS id FROM forgotten_debit ORDER BY 1'),
  ).toEqual([{ id: 'of-nobody' }, { id: 'of-none' }, { id: 'of-none-before' }]);
  await close();
});
