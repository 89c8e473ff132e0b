import { proveWithoutUnique } from '../../prove/real/without-unique';
import { Report } from '../../prove/report';
import { buildWithCrashPoints } from '../support/crash-build';

describe('the unique index on submit attempts', () => {
  it('keeps everybody from being paid twice by who arms a submit past every trigger; dropped, it does not', async () => {
    buildWithCrashPoints();
    const lines: string[] = [];
    expect(await proveWithoutUnique(new Report((text) => lines.push(text)))).toBe(true);
    const cells = lines.slice(1).map((line) => line.trim().split(/ {2,}/));
    const columns = { fault: 0, twice: 3 };
    expect(cells.map((line) => [line[columns.fault], line[columns.twice]])).toEqual([
      ['armed by hand, with the unique index', '0'],
      ['armed by hand, the unique index dropped', '1'],
    ]);
  });
});
