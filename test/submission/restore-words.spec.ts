import { happenedAfter } from '../../src/submission/restore-words';

const held = { hidden: [], older: [], inPart: [], lapsed: [], withdrawn: 0 };
const told = (unread: number): string =>
  happenedAfter(
    'The database was restored.',
    { readable: true, unknown: [], moved: [], unidentified: ['816', '815'], unread },
    [],
    held,
  );

it('people are told after a restore how many of the instructions that nobody can tell were left unread', () => {
  expect(told(1)).toContain(
    'nobody knows for which employer, of which 1, the oldest, were not read singly (816, 815)',
  );
  expect(told(0)).toContain('nobody knows for which employer (816, 815)');
});
