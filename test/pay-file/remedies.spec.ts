import { DECIMAL_SIGNS, THOUSANDS_SIGNS } from '../../src/domain/amount-style';
import { decodeSingleBytes, Encoding, ENCODINGS } from '../../src/domain/pay-file-encoding';
import { NO_PROFILE, PayFileProfile } from '../../src/domain/pay-file-profile';
import { DATE_ORDERS } from '../../src/domain/written-date';
import { encode, markOf } from '../../src/pay-file/encoding';
import { PayFileFault } from '../../src/pay-file/pay-file-fault';
import { Preview } from '../../src/pay-file/preview';
import { createProfile } from '../../src/pay-file/profile.store';
import { readPreviewFields } from '../../src/pay-file/terms';
import { germanIban } from '../support/pay-rows';
import { Desk, fileOf, PayDesk } from './pay-desk';

let desk: PayDesk;
let employer: Desk;

beforeAll(async () => {
  desk = await PayDesk.open();
});
beforeEach(async () => {
  employer = await desk.employer();
});
afterAll(() => desk.close());

const keep = (definition: Partial<PayFileProfile>) =>
  desk.database.inEmployer(employer.employerId, (tx) =>
    createProfile(tx, employer.personId, { name: 'Lohn', definition: { ...NO_PROFILE, ...definition } }),
  );

const HEADER = 'employee_id;name;iban;amount;currency;execution_date';
/** Some of its letters are no character in one or the other encoding that it is not in. */
const NAME = 'Šárka Ávila';
const rowOf = (n: number, amount: string, date: string): string =>
  `E${n};${NAME};${germanIban(n)};${amount};EUR;${date}`;
const textOf = (...rows: string[]): string => [HEADER, ...rows, ''].join('\r\n');
const bytesIn = (encoding: Encoding, text: string, marked: boolean): Buffer =>
  Buffer.concat([marked ? markOf(encoding) : Buffer.alloc(0), encode(text, encoding)]);
/** What a spreadsheet saves as “CSV UTF-8”. */
const savedAnew = (text: string): Buffer => bytesIn('utf-8', text, true);

const STYLES = DECIMAL_SIGNS.flatMap((decimalSign) =>
  THOUSANDS_SIGNS.filter((sign) => String(sign) !== decimalSign).map((thousandsSign) => ({
    decimalSign,
    thousandsSign,
  })),
);
const WRITTEN = [
  undefined,
  ...STYLES.flatMap((amounts) => DATE_ORDERS.map((dateOrder) => ({ amounts, dateOrder }))),
];

describe('what is said of an amount and a date that cannot be read', () => {
  it.each(WRITTEN.map((written) => [written]))('is taken once it is done: %j', async (written) => {
    const good = { dot: '10.00', comma: '10,00' }[written?.amounts.decimalSign ?? 'dot'];
    const day = { YMD: '2026-11-27', DMY: '27.11.2026', MDY: '11/27/2026' }[written?.dateOrder ?? 'YMD'];
    const file = Buffer.from(textOf(rowOf(1, good, day), rowOf(2, '12x', 'tomorrow')));
    const examples = written && written.amounts.thousandsSign !== 'none' ? 2 : 1;
    for (let n = 0; n < examples; n += 1) {
      employer = await desk.employer();
      if (written) await keep(written);
      await desk.set(employer, { faultPolicy: { policy: 'hold' } });
      const { answer } = await desk.upload(employer, file, written ? { profile: 'Lohn' } : {});
      expect(answer).toMatchObject({ payments: 1, keptBack: { rows: 1, faultCount: 2 } });
      const kept = (await desk.corrections(employer, answer.id)).toString();
      const remedies = answer.keptBack.faults.map(({ remedy }) => remedy);
      for (const remedy of remedies) expect(kept).toContain(remedy);
      const [, plain, grouped] =
        /^Write (\S+?)(?: or (1.+?56))?, (?:or )?as the profile/.exec(remedies[0]!) ?? [];
      const [, asDate] = /^Write the day of the run as in (\S+), /.exec(remedies[1]!) ?? [];
      const mended = kept.replace('12x', [plain, grouped][n]!).replace('tomorrow', asDate!);
      const done = await desk.correct(employer, answer.id, Buffer.from(mended));
      expect(done).toMatchObject({ corrected: 1, stillFaulty: 0, faults: [] });
    }
  });

  it('is the day of the run in the order of the file where a row names another', async () => {
    await keep({ dateOrder: 'MDY' });
    const file = Buffer.from(textOf(rowOf(1, '10.00', '12/24/2026')));
    const problem = await desk.refusal(employer, file, { profile: 'Lohn' });
    const [fault] = problem.extra['faults'] as PayFileFault[];
    expect(fault?.message).toBe('The row is to be paid on 12/24/2026, the run on 11/27/2026.');
  });
});

describe('what is said of an encoding that a file does not have', () => {
  const text = textOf(rowOf(1, '10.00', '2026-11-27'), rowOf(2, '11.00', '2026-11-27'));
  const files = ENCODINGS.flatMap((actual) =>
    [true, false]
      .filter((marked) => !marked || markOf(actual).length > 0)
      .map((marked) => ({ actual, marked })),
  );
  const preview = (bytes: Buffer, fields: Record<string, string>): Promise<Preview> =>
    desk.preview().show(employer.employerId, fileOf(bytes), readPreviewFields(Object.entries(fields)));

  /** Everything that a remedy names: the file as it is in each encoding that may be the right one, or saved anew. */
  function ways({ remedy, readings }: PayFileFault, bytes: Buffer, actual: Encoding): [Buffer, string?][] {
    const found: [Buffer, string?][] = [];
    const [, anew] = /CSV UTF-8” and upload that with encoding=(\S+?)\./.exec(remedy) ?? [];
    if (anew !== undefined) found.push([savedAnew(text), anew]);
    const [, one] = /^Upload it again as it is, with encoding=(\S+)\.$/.exec(remedy) ?? [];
    if (one !== undefined) found.push([bytes, one]);
    const [, all] = /with encoding= and the one it is in: (.+)\.$/.exec(remedy) ?? [];
    if (all !== undefined) {
      expect(all.split(', ')).toContain(actual);
      found.push([bytes, actual]);
    }
    const right = (readings ?? []).filter((reading) => [NAME, HEADER].includes(reading.text));
    expect(right.length > 0).toBe(/Look at `readings`/.test(remedy));
    return [...found, ...right.map(({ encoding }): [Buffer, string] => [bytes, encoding])];
  }

  describe.each(['profile', 'upload'] as const)('with its %s', (source) => {
    it.each(files)('is taken once it is done: $actual, with its mark $marked', async ({ actual, marked }) => {
      const bytes = bytesIn(actual, text, marked);
      for (const said of [undefined, ...ENCODINGS]) {
        employer = await desk.employer();
        if (source === 'profile') await keep(said === undefined ? {} : { encoding: said });
        const profile: Record<string, string> = source === 'profile' ? { profile: 'Lohn' } : {};
        const fields = source === 'upload' && said !== undefined ? { encoding: said } : profile;
        const { faults, rows } = await preview(bytes, fields);
        if (faults.length === 0) {
          expect(rows).toHaveLength(2);
          continue;
        }
        expect(faults.map(({ code }) => code)).toEqual([expect.stringMatching(/^ENCODING_/)]);
        const all = faults.flatMap((fault) => ways(fault, bytes, actual));
        expect(all).not.toEqual([]);
        for (const [sent, encoding] of all) {
          const shown = await preview(sent, { ...profile, ...(encoding !== undefined && { encoding }) });
          expect([said, encoding, shown.faults]).toEqual([said, encoding, []]);
          expect(shown.rows.map(({ payment }) => payment?.writtenName)).toEqual([NAME, NAME]);
        }
      }
    });
  });

  it('is not another encoding than its mark where it is damaged', async () => {
    for (const damage of [[0xe4], [0x00]]) {
      const bytes = Buffer.concat([markOf('utf-8'), Buffer.from(damage), Buffer.from(text)]);
      const [fault] = (await preview(bytes, {})).faults;
      expect(fault).toMatchObject({
        code: 'ENCODING_NOT_UTF8',
        remedy: expect.stringMatching(/^Save it as/),
      });
      expect(ways(fault!, bytes, 'utf-8')).toEqual([[savedAnew(text), 'utf-8']]);
    }
  });

  it('is followed by a workbook that was saved, whatever the profile says', async () => {
    await keep({ encoding: 'windows-1252' });
    const [fault] = (await preview(Buffer.from('PK\x03\x04'), { profile: 'Lohn' })).faults;
    const [[sent, encoding] = []] = ways(fault!, Buffer.alloc(0), 'utf-8');
    const shown = await preview(sent!, { profile: 'Lohn', encoding: encoding! });
    expect(shown.faults).toEqual([]);
  });

  it('is taken of corrections that a spreadsheet saved otherwise than the file was', async () => {
    await keep({ encoding: 'windows-1252' });
    await desk.set(employer, { faultPolicy: { policy: 'hold' } });
    const file = textOf(rowOf(1, '10.00', '2026-11-27'), rowOf(2, '12x', '2026-11-27'));
    const { answer } = await desk.upload(employer, encode(file, 'windows-1252'), { profile: 'Lohn' });
    const kept = (await desk.corrections(employer, answer.id)).toString('latin1');
    const saved = savedAnew(decodeSingleBytes(kept, 'windows-1252').replace('12x', '12.00'));
    const refused = await desk.correct(employer, answer.id, saved).catch((problem: unknown) => problem);
    expect(refused).toMatchObject({
      extra: { faults: [{ remedy: 'Upload it again as it is, with encoding=utf-8.' }] },
    });
    const corrected = await desk.correct(employer, answer.id, saved, { encoding: 'utf-8' });
    expect(corrected).toMatchObject({ corrected: 1, stillFaulty: 0 });
  });
});

describe('what is said of columns and lines that are none of a row', () => {
  const row = rowOf(1, '10.00', '2026-11-27');
  const faultsWith = async (file: string, fields: Record<string, string> = {}) =>
    (await desk.refusal(employer, Buffer.from(file), fields)).extra['faults'] as PayFileFault[];
  const payments = async (file: string, fields: Record<string, string> = {}) =>
    (await desk.upload(employer, Buffer.from(file), fields)).answer.payments;

  it('is nothing of empty columns that a spreadsheet leaves at the end, also in corrections', async () => {
    await desk.set(employer, { faultPolicy: { policy: 'hold' } });
    const file = [`${HEADER};;`, `${row};;`, `${rowOf(2, '12x', '2026-11-27')};;`, ';;;;;;;', ''].join('\n');
    const { answer } = await desk.upload(employer, Buffer.from(file));
    expect(answer).toMatchObject({ payments: 1, keptBack: { rows: 1 } });
    const kept = (await desk.corrections(employer, answer.id)).toString();
    expect(kept.startsWith(`${HEADER};;;payrun_errors\n`)).toBe(true);
    const back = Buffer.from(kept.replace('12x', '12.00'));
    expect(await desk.correct(employer, answer.id, back)).toMatchObject({ corrected: 1, stillFaulty: 0 });
  });

  it('is where something stands in such a column, which a profile can ignore', async () => {
    const file = [`${HEADER};;`, `${row};;x`, ''].join('\n');
    const [fault, ...others] = await faultsWith(file);
    expect(fault).toMatchObject({
      ...{ line: 2, code: 'FIELDS_TOO_MANY', value: 'x' },
      message: 'The row has something in column 8, which has no name in the header.',
      remedy: expect.stringContaining('{"columns":{"":"ignored"}}'),
    });
    expect(others).toEqual([]);
    await keep({ columns: { '': 'ignored' } });
    expect(await payments(file, { profile: 'Lohn' })).toBe(1);
  });

  it('is the place of a column without a name among others', async () => {
    const file = [HEADER.replace('name;', 'name;;'), row.replace(NAME, `${NAME};`), ''].join('\n');
    const [fault, ...others] = await faultsWith(file);
    expect(fault).toMatchObject({
      ...{ line: 1, column: '', code: 'COLUMN_UNKNOWN', message: 'Column 3 of the header has no name.' },
      remedy: expect.stringContaining('{"columns":{"":"ignored"}}'),
    });
    expect(others).toEqual([]);
    await keep({ columns: { '': 'ignored' } });
    expect(await payments(file, { profile: 'Lohn' })).toBe(1);
  });

  it.each([
    [
      'a title',
      `Payroll November\n${textOf(row)}`,
      /Delete the lines of a title.*titleLines/,
      { titleLines: 1 },
    ],
    ['totals', `${textOf(row)}Summe;;;10.00;;\r\n`, /delete it.*\(totals\)/, { totals: { lines: 1 } }],
    [
      'totals by name',
      `${textOf(row)};Summe;;10.00;;\r\n`,
      /delete it.*\(totals\)/,
      { totals: { lines: 1 } },
    ],
    [
      'short totals',
      `${textOf(row)}Summe;10.00\r\n`,
      /Delete a line of totals.*\(totals\)/,
      { totals: { lines: 1 } },
    ],
  ])('is how a line of %s is deleted, or said in a profile', async (_, file, remedy, profile) => {
    const told = (await faultsWith(file)).map((fault) => fault.remedy);
    expect(told).toContainEqual(expect.stringMatching(remedy));
    await keep(profile);
    expect(await payments(file, { profile: 'Lohn' })).toBe(1);
    employer = await desk.employer();
    expect(await payments(textOf(row))).toBe(1);
  });
});
