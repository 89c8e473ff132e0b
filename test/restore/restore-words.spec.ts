import { type Finding, happenedAfter } from '../../src/restore/restore-words';
import { WHOLE_SWEEP } from './whole-sweep';

const held = { hidden: [], older: [], inPart: [], lapsed: [], withdrawn: 0 };
const told = (unread: number, findings: readonly Finding[] = []): string =>
  happenedAfter(
    'The database was restored.',
    { ...WHOLE_SWEEP, unidentified: ['816', '815'], unread },
    findings,
    held,
  );

it('people are told after a restore how many of the instructions that nobody can tell were left unread', () => {
  expect(told(1)).toContain(
    'nobody knows for which employer, of which 1, the oldest, were not read singly (816, 815)',
  );
  expect(told(0)).toContain('nobody knows for which employer (816, 815)');
});

it('of a run that is past its approval it is not said that it goes on no more: it may be being submitted', () => {
  const unclear = {
    bankInstructionId: '814',
    instructionId: undefined,
    payRunId: '018f0000-0000-7000-8000-000000000001',
    reference: undefined,
    status: 'INITIATED',
    submitted: false,
    isUnclear: true,
    payments: 2,
    refusal: undefined,
    isPast: true,
  };
  const said = told(0, [unclear]);
  expect(said).not.toContain('goes on no more');
  expect(said).toContain('its run can be neither approved nor cancelled any more, and where it is stopped');
});

it('says of each run that it leaves stopped that one person stops it before another resumes it', () => {
  const run = '018f0000-0000-7000-8000-000000000001';
  for (const which of ['older', 'inPart'])
    expect(happenedAfter('It was restored.', WHOLE_SWEEP, [], { ...held, [which]: [run] })).toMatch(
      /[Rr]esume (it|each of the others) \(one person stops it, another then resumes it\)/,
    );
});
