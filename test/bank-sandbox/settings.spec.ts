import { PATHS } from '../../src/bank/types';
import { optionsFromEnvironment } from '../../src/bank-sandbox/main';
import { completeVariants, DEFAULT_VARIANTS, type Variants } from '../../src/bank-sandbox/variants';
import { Tester } from './client';

/** A lawful value of each variant that is not its default. */
const OTHERWISE: Variants = {
  amountUnit: 'major',
  amountType: 'string',
  sums: 'float',
  pageBase: 0,
  pageZero: 'fails',
  countMeans: 'page',
  countUpTo: 40,
  recordsOfOthers: 19,
  othersAfter: 21,
  maxPageSize: 7,
  largePages: 'refused',
  ignorePageParams: true,
  unshownParams: 'refused',
  fromDates: 'of-a-week',
  generalList: 'unsettled',
  instructionRecords: 'without-status',
  instructionList: 'whole',
  emptyLists: '204',
  listingLagMs: 100,
  reserves: 'at-add',
  secondSubmit: 'executed',
  addAfterSubmit: 'accepted',
  addsOfOne: 'in-turn',
  addableAfterMs: 100,
  untimelyAdds: 'refused',
  linkReads: 'refused',
  listsShow: 'submitted',
  omitFromLists: ['parties', 'messageId', 'customerInstructionId'],
  paymentIds: 'two-sequences',
  optionalFields: 'left-out',
  absentTexts: 'empty',
  unknownFields: true,
  respaceIbans: true,
  respaceNames: true,
  upperCaseNames: true,
  upperCaseReferences: true,
  enforceControlTotals: true,
  submitStatus: 202,
  submitRuns: 'later',
  groupsFill: 'progressively',
  groupsLeaveOut: 'failed',
  bookEnds: 'SUBMITTED',
  submitWaitsFor: 'strong-authentication',
  refusalEnds: 'itself',
  failedChecks: 'leave-it',
  failedAtAdd: 'not-listed',
  onceSubmitted: 'gone',
  waitsAs: 'PRO_WAIT_SETTLEMENT_DATE',
  instructionEnds: 'with-its-payments',
  errorShape: 'nested',
  webhookId: 'entity',
  signs: 'compact-json',
  tokenForm: 'basic',
  tokenLifetimeS: 60,
  tokensLive: 'until-the-next',
  hooksWithoutIdentity: 'everything',
  hookAnswers: 'nothing',
  webhooksPerMinute: 5,
  subIsValidRepeats: 3,
  executionDays: 'next',
  chargeMinor: 15,
  chargeSign: 'negative',
  returnChargeMinor: 20,
  requestsPerMinute: 100,
  creditedEvent: true,
};

const given = (SANDBOX_VARIANTS: string) => optionsFromEnvironment({ SANDBOX_VARIANTS }).variants;

describe('SANDBOX_VARIANTS', () => {
  it('takes every variant there is', () => {
    const names = Object.keys(DEFAULT_VARIANTS) as (keyof Variants)[];
    for (const name of names) expect([name, OTHERWISE[name]]).not.toEqual([name, DEFAULT_VARIANTS[name]]);
    expect(given(JSON.stringify(OTHERWISE))).toEqual(OTHERWISE);
  });

  it('starts a bank with all of them at once', async () => {
    const bank = await Tester.start({ variants: given(JSON.stringify(OTHERWISE)) });
    const { body } = await bank.get(PATHS.accounts());
    expect(body.items[0].balance).toMatchObject({ value: '250000.00' });
    await bank.close();
  });

  it('leaves at their defaults those it does not name', () => {
    expect(given('{"chargeMinor":15}')).toEqual({ ...DEFAULT_VARIANTS, chargeMinor: 15 });
    expect(given('')).toBeUndefined();
    expect(completeVariants({ chargeMinor: undefined })).toEqual(DEFAULT_VARIANTS);
  });

  it.each([
    ['{"amountUnit":"cents"}', 'variant amountUnit must be "minor" or "major"'],
    ['{"pageBase":"1"}', 'variant pageBase must be 0 or 1'],
    ['{"submitStatus":204}', 'variant submitStatus must be 200 or 201 or 202'],
    ['{"respaceNames":"yes"}', 'variant respaceNames must be true or false'],
    ['{"unknownFields":1}', 'variant unknownFields must be true or false'],
    ['{"chargeMinor":1.5}', 'variant chargeMinor must be a whole number from 0 to 99999'],
    ['{"chargeMinor":"15"}', 'variant chargeMinor must be a whole number from 0 to 99999'],
    ['{"maxPageSize":0}', 'variant maxPageSize must be a whole number from 1 to 10000'],
    ['{"webhooksPerMinute":0}', 'variant webhooksPerMinute must be a whole number from 1 to 999999999'],
    ['{"tokenLifetimeS":null}', 'variant tokenLifetimeS must be a whole number from 1 to 999999999'],
    [
      '{"omitFromLists":["names"]}',
      'variant omitFromLists must be a list of "parties", "messageId", "customerInstructionId"',
    ],
    [
      '{"omitFromLists":"parties"}',
      'variant omitFromLists must be a list of "parties", "messageId", "customerInstructionId"',
    ],
    [
      '{"submitWaitsFor":true}',
      'variant submitWaitsFor must be "nothing" or "strong-authentication" or "approval"',
    ],
    ['[]', 'variants must be an object'],
    ['"amountUnit"', 'variants must be an object'],
    ['null', 'variants must be an object'],
    ['{amountUnit:"major"}', 'SANDBOX_VARIANTS must be JSON'],
  ])('%s is refused with what would be lawful', (text, message) => {
    expect(() => given(text)).toThrow(message);
  });

  it('names all that is wrong at once, and the variants there are', () => {
    const text = '{"amountUnits":"major","pageBase":2,"constructor":1}';
    expect(() => given(text)).toThrow(/there is no variant amountUnits; the variants are amountUnit, .*/);
    expect(() => given(text)).toThrow(/variant pageBase must be 0 or 1; there is no variant constructor/);
  });

  it('does not let a bank start in another way either', async () => {
    const variants = { amountUnits: 'major' } as Partial<Variants>;
    await expect(Tester.start({ variants })).rejects.toThrow('there is no variant amountUnits');
    const wrong = { errorShape: 'xml' } as unknown as Partial<Variants>;
    await expect(Tester.start({ variants: wrong })).rejects.toThrow('must be "flat" or "nested"');
  });
});

describe('SANDBOX_FRESH', () => {
  it.each([
    ['true', true],
    ['false', false],
    ['', undefined],
  ])('reads "%s" as %s', (SANDBOX_FRESH, fresh) => {
    expect(optionsFromEnvironment({ SANDBOX_FRESH }).fresh).toBe(fresh);
  });

  it('is nothing but true or false', () => {
    for (const SANDBOX_FRESH of ['1', 'yes', 'True'])
      expect(() => optionsFromEnvironment({ SANDBOX_FRESH })).toThrow('SANDBOX_FRESH must be true or false');
  });
});

describe('SANDBOX_TIME_ZONE', () => {
  it('is a zone there is, told in one line', async () => {
    expect(optionsFromEnvironment({ SANDBOX_TIME_ZONE: 'Europe/Berlin' }).timeZone).toBe('Europe/Berlin');
    for (const SANDBOX_TIME_ZONE of ['Europe/Berlim', 'CEST+', 'nowhere'])
      expect(() => optionsFromEnvironment({ SANDBOX_TIME_ZONE })).toThrow(
        /^SANDBOX_TIME_ZONE must be a time zone, such as Europe\/Berlin$/,
      );
    await expect(Tester.start({ timeZone: 'nowhere' })).rejects.toThrow('timeZone must be a time zone');
  });
});

describe('SANDBOX_TOKEN', () => {
  it('is what a header can carry behind Bearer', () => {
    expect(optionsFromEnvironment({ SANDBOX_TOKEN: 'a-b.c_d~1+/=' }).tokens).toMatchObject([
      { token: 'a-b.c_d~1+/=' },
    ]);
    for (const SANDBOX_TOKEN of ['two words', 'line\n', 'clé', '\u0000', '日'])
      expect(() => optionsFromEnvironment({ SANDBOX_TOKEN })).toThrow(/^SANDBOX_TOKEN must be visible ASCII/);
  });
});

it('takes an empty setting for none', () => {
  const empty = { SANDBOX_HOST: '', SANDBOX_TOKEN: '', SANDBOX_STATE_FILE: '', SANDBOX_TIME_ZONE: '' };
  expect(optionsFromEnvironment(empty)).toEqual(optionsFromEnvironment({}));
});
