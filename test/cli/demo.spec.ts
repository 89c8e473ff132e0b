import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CHECKOUT, commandLine } from './compiled';
import { databasePort, descendantsOf, endAll, launch, leftOf, listens, until } from './processes';

const TIMEOUT_MS = 300_000;

describe('payrun demo', () => {
  let temporary: string;

  beforeAll(() => {
    commandLine();
    temporary = mkdtempSync(join(tmpdir(), 'demo-'));
    // The database's account works in it, where the tests run as root.
    chmodSync(temporary, 0o755);
  }, TIMEOUT_MS);
  afterAll(() => {
    endAll();
    rmSync(temporary, { recursive: true });
  });

  const start = (...args: string[]) =>
    launch([commandLine(), 'demo', ...args], { cwd: CHECKOUT, env: { TMPDIR: temporary } });

  it.each(['the first time', 'the second time'])(
    'pays 250 salaries, explains every cent and leaves nothing behind, %s',
    async () => {
      const demo = start('--fast');
      await until(demo, () => demo.output().includes('\n1. '));
      const processes = descendantsOf(demo);
      const code = await demo.ended;
      const output = demo.output();
      expect({ code, output }).toMatchObject({ code: 0 });
      expectRefusals(output);
      expect(output.trimEnd().split('\n').slice(-10)).toEqual([
        '               payments         EUR',
        '  uploaded          250  1056550.54',
        '  approved          250  1056550.54',
        '  at the bank       250  1056550.54',
        '  settled           250  1056550.54',
        '  not paid            0        0.00',
        '  in flight           0        0.00',
        '  difference                   0.00',
        '',
        '250 settled, difference 0.00',
      ]);
      await expectNothingLeft(output, processes);
    },
    TIMEOUT_MS,
  );

  function expectRefusals(output: string): void {
    for (const fault of [
      /4 +iban +IBAN_CHECK_DIGITS +\S/,
      /7 +amount +AMOUNT_TOO_SMALL +\S/,
      /10 +currency +CURRENCY_NOT_SUPPORTED +\S/,
      /13 +name +NAME_MISSING +\S/,
      /16 +bic +BIC_COUNTRY_MISMATCH +\S/,
      /20 +amount +AMOUNT_DECIMALS +\S/,
    ]) {
      expect(output).toMatch(fault);
    }
    expect(output).toContain('refused: 409 APPROVER_IS_PREPARER');
    expect(output).toContain('APPROVED, in 3 instructions of at most 100 payments each');
  }

  async function expectNothingLeft(
    output: string,
    processes: ReturnType<typeof descendantsOf>,
  ): Promise<void> {
    expect(leftOf(processes)).toEqual([]);
    expect(await listens(databasePort(output))).toBe(false);
    expect(readdirSync(temporary)).toEqual([]);
  }

  it(
    'leaves nothing behind when it is interrupted in the middle',
    async () => {
      const demo = start();
      await until(demo, () => demo.output().includes('5. Built at the bank'));
      const processes = descendantsOf(demo);
      demo.process.kill('SIGINT');
      expect(await demo.ended).toBe(130);
      await expectNothingLeft(demo.output(), processes);
    },
    TIMEOUT_MS,
  );

  it(
    'fails, saying so, when a sample is not there',
    async () => {
      const demo = launch([commandLine(), 'demo', '--fast'], { cwd: temporary, env: { TMPDIR: temporary } });
      expect(await demo.ended).toBe(1);
      expect(demo.output()).toContain('many-defects.csv');
      expect(readdirSync(temporary)).toEqual([]);
    },
    TIMEOUT_MS,
  );
});
