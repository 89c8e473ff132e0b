import { ProgressBar, table } from '../../src/cli/terminal';

function terminal(isTTY: boolean, columns = 200) {
  const written: string[] = [];
  return { isTTY, columns, written, write: (text: string) => written.push(text) };
}

describe('the progress bar', () => {
  it('is shaded by the share of payments in each status, the furthest first', () => {
    const output = terminal(false);
    new ProgressBar(output).show({ APPROVED: 1, AT_BANK: 1, SUBMITTED: 1, SETTLED: 1 });
    const bar = ['█', '▓', '▒', '░'].map((shade) => shade.repeat(10)).join('');
    expect(output.written).toEqual([`  [${bar}] 1 settled · 1 submitted · 1 at the bank · 1 approved\n`]);
  });

  it('names statuses it has no shade for and leaves their share empty', () => {
    const output = terminal(false);
    new ProgressBar(output).show({ SETTLED: 3, FAILED: 1 });
    expect(output.written).toEqual([`  [${'█'.repeat(30)}${' '.repeat(10)}] 3 settled · 1 failed\n`]);
  });

  it('prints a line for each change where there is no terminal', () => {
    const output = terminal(false);
    const bar = new ProgressBar(output);
    for (const settled of [0, 0, 2, 2]) bar.show({ APPROVED: 2 - settled, SETTLED: settled });
    bar.end();
    expect(output.written).toHaveLength(2);
    expect(output.written.every((line) => line.endsWith('\n'))).toBe(true);
  });

  it('is redrawn in place on a terminal, within its width', () => {
    const output = terminal(true, 60);
    const bar = new ProgressBar(output);
    bar.show({ APPROVED: 250, AT_BANK: 250, SUBMITTED: 250 });
    bar.show({ SETTLED: 750 });
    bar.end();
    bar.end();
    expect(output.written.map((text) => text.slice(0, 5))).toEqual(['\r\x1b[2K', '\r\x1b[2K', '\n']);
    expect(output.written[0]).toHaveLength(5 + 60);
  });
});

describe('a table', () => {
  it('has columns as wide as their widest cell, numbers flush right', () => {
    expect(
      table(
        ['line', 'what'],
        [
          ['4', 'an IBAN'],
          ['1234567', ''],
        ],
        [0],
      ),
    ).toEqual(['     line  what', '        4  an IBAN', '  1234567']);
  });
});
