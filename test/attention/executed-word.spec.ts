import { ExecutedWord } from '../../src/attention/executed-word';
import { NotFound } from '../../src/bank/errors';
import type { Database } from '../../src/database/database';
import type { Standing } from '../../src/employer/standing';
import type { InstructionReader } from '../../src/submission/read-back';

describe('that a submit in doubt was executed', () => {
  /** Said by two people at a bank that shows it so. */
  function said(standing: Partial<Standing> | Error, evidence: string | null = null) {
    const database = { inEmployer: () => Promise.resolve({}) } as unknown as Database;
    const reader = {
      standing: () => (standing instanceof Error ? Promise.reject(standing) : Promise.resolve(standing)),
    } as unknown as InstructionReader;
    return new ExecutedWord(database, reader).prove('employer', { instructionId: 'i' }, evidence);
  }
  const shows = (...statuses: string[]) => ({ statuses, isUnclear: false });

  it.each(['INITIATED', 'INITIATED INI_IS_VALID', 'CANCELLED', 'INITIATED REJECTED'])(
    'takes the word of the bank where it shows %s',
    async (statuses) => {
      const shown = shows(...statuses.split(' '));
      await expect(said(shown)).rejects.toMatchObject({ code: 'SHOWN_UNSUBMITTED' });
      await expect(said(shown, ' ')).rejects.toMatchObject({ code: 'SHOWN_UNSUBMITTED' });
      await expect(said(shown, 'letter 4711')).resolves.toBeUndefined();
    },
  );

  it.each<[string, Partial<Standing> | Error]>([
    ['a payment of it is past the submit', shows('INITIATED', 'SUB_STARTED')],
    ['it is in a status that no document names', shows('INITIATED', 'C_ODD')],
    ['what it shows leaves open whether it was submitted', { ...shows('INITIATED'), isUnclear: true }],
    ['it shows nothing of it', shows()],
    ['it cannot be read', new NotFound(404, { raw: '' })],
  ])('holds on the word of two people where %s', async (_, standing) => {
    await expect(said(standing)).resolves.toBeUndefined();
  });
});
