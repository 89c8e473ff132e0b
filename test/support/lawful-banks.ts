import { createHash } from 'node:crypto';
import type { Config } from '../../src/config/env';
import { TOKEN_PATH } from '../../src/bank-sandbox/routes/token';
import { DEFAULT_CLIENT, DEFAULT_TOKEN } from '../../src/bank-sandbox/sandbox';
import { DEFAULT_VARIANTS, Variants } from '../../src/bank-sandbox/variants';

type Settings = Partial<Record<keyof Config, string>>;

/**
 * The values a random bank chooses from, with a line for each variant. Left at the default alone is what needs a
 * person at the bank, and what would only make a test longer.
 */
const LAWFUL: { readonly [K in keyof Variants]: readonly Variants[K][] } = {
  amountUnit: ['minor', 'major'],
  amountType: ['number', 'string'],
  sums: ['exact', 'float'],
  pageBase: [0, 1],
  pageZero: ['refused'],
  countMeans: ['page', 'total'],
  countUpTo: [0],
  recordsOfOthers: [0],
  othersAfter: [20],
  maxPageSize: [20, 50, 100],
  largePages: ['capped', 'refused'],
  ignorePageParams: [false, true],
  unshownParams: ['read', 'refused'],
  fromDates: ['every', 'of-a-week', 'none'],
  generalList: ['all'],
  instructionList: ['paged', 'whole'],
  instructionRecords: ['whole'],
  emptyLists: ['envelope', 'without-items', '404', '204'],
  listingLagMs: [0, 100],
  reserves: ['at-debit'],
  secondSubmit: ['refused', 'executed'],
  addAfterSubmit: ['refused', 'accepted'],
  addsOfOne: ['side-by-side'],
  addableAfterMs: [0],
  untimelyAdds: ['as-said'],
  linkReads: ['allowed', 'refused'],
  listsShow: ['added'],
  omitFromLists: [[], ['parties'], ['messageId'], ['parties', 'messageId'], ['customerInstructionId']],
  paymentIds: ['one-sequence', 'two-sequences'],
  optionalFields: ['sent', 'left-out'],
  absentTexts: ['left-out', 'empty'],
  unknownFields: [false, true],
  respaceIbans: [false, true],
  respaceNames: [false, true],
  upperCaseNames: [false, true],
  upperCaseReferences: [false, true],
  enforceControlTotals: [false, true],
  submitStatus: [200, 201, 202],
  submitRuns: ['at-once', 'later'],
  groupsFill: ['at-once', 'progressively'],
  groupsLeaveOut: ['nothing', 'failed', 'ended'],
  bookEnds: ['SETTLED'],
  submitWaitsFor: ['nothing'],
  refusalEnds: ['its-payments'],
  failedChecks: ['end-it', 'leave-it'],
  failedAtAdd: ['counted', 'not-counted', 'not-listed'],
  onceSubmitted: ['shown'],
  waitsAs: ['WAREHOUSED', 'PRO_WAIT_SETTLEMENT_DATE'],
  instructionEnds: ['SUB_REQUIRED', 'with-its-payments'],
  errorShape: ['flat', 'nested'],
  webhookId: ['event', 'entity'],
  signs: ['sent-bytes', 'compact-json'],
  tokenForm: ['json', 'form', 'basic'],
  tokenLifetimeS: [60, 600],
  tokensLive: ['side-by-side'],
  hooksWithoutIdentity: ['nothing', 'everything'],
  hookAnswers: ['message', 'nothing'],
  webhooksPerMinute: [100],
  subIsValidRepeats: [1, 3],
  executionDays: ['every', 'target', 'next'],
  chargeMinor: [0, 15],
  chargeSign: ['positive', 'negative'],
  returnChargeMinor: [0],
  requestsPerMinute: [0],
  creditedEvent: [false, true],
};

/** Banks with a name: each chooses otherwise than the defaults in as many places as one bank can. */
const NAMED: Readonly<Record<string, Partial<Variants>>> = {
  documented: {},
  'in-euros': {
    amountUnit: 'major',
    amountType: 'string',
    pageBase: 0,
    countMeans: 'page',
    maxPageSize: 5,
    listingLagMs: 100,
    addAfterSubmit: 'accepted',
    secondSubmit: 'executed',
    respaceIbans: true,
    upperCaseNames: true,
    enforceControlTotals: true,
    submitStatus: 202,
    errorShape: 'nested',
    webhookId: 'entity',
    subIsValidRepeats: 3,
    executionDays: 'target',
  },
  'tight-lipped': {
    amountType: 'string',
    ignorePageParams: true,
    maxPageSize: 100,
    countMeans: 'page',
    linkReads: 'refused',
    omitFromLists: ['parties', 'messageId'],
    secondSubmit: 'executed',
    submitStatus: 200,
    webhookId: 'entity',
    hooksWithoutIdentity: 'everything',
    tokenForm: 'basic',
    tokenLifetimeS: 60,
  },
};

const RANDOM = /^random-(\d{1,9})$/;

/** The variable that chooses the bank of the flow suite: `documented`, another name, or `random-<seed>`. */
export const FLOW_BANK = 'FLOW_BANK';

/** The variants of a bank by its name. Throws for a name that is none, with those that are. */
export function lawfulBank(name: string): Partial<Variants> {
  const seed = RANDOM.exec(name)?.[1];
  if (seed !== undefined) return accountable(randomBank(Number(seed)));
  const named = NAMED[name];
  if (named === undefined)
    throw new Error(`${FLOW_BANK} is one of ${Object.keys(NAMED).join(', ')}, random, random-<seed>`);
  return named;
}

/** The bank the flow suite is run against. */
export function bankOfThisRun(): Partial<Variants> {
  return lawfulBank(process.env[FLOW_BANK] ?? 'documented');
}

/** What an operator sets for a bank at `url` that chose these variants; tokens that end are fetched, not given. */
export function settingsFor(url: string, variants: Partial<Variants>): Settings {
  const { amountUnit, linkReads, listingLagMs, signs, tokenForm, tokenLifetimeS } = {
    ...DEFAULT_VARIANTS,
    ...variants,
  };
  const credentials = {
    BANK_TOKEN_URL: url + TOKEN_PATH,
    BANK_CLIENT_ID: DEFAULT_CLIENT.id,
    BANK_CLIENT_SECRET: DEFAULT_CLIENT.secret,
    BANK_TOKEN_FORM: tokenForm,
  };
  return {
    ...(tokenLifetimeS < DEFAULT_VARIANTS.tokenLifetimeS
      ? credentials
      : { BANK_ACCESS_TOKEN: DEFAULT_TOKEN }),
    BANK_AMOUNT_UNIT: amountUnit,
    // Without links each look is one at everything the bank holds.
    ...(linkReads !== 'allowed' && { FOLLOW_DELAYS_MS: '400' }),
    BANK_WEBHOOK_FORM: signs === 'sent-bytes' ? 'raw' : 'reserialised',
    BANK_LAG_BOUND_MS: String(listingLagMs === 0 ? 0 : listingLagMs + 50),
  };
}

/**
 * A bank that shows neither totals, nor links, nor what a payment belongs to ends every run with a question: that has a
 * story of its own among the variants, and every other story expects that nothing is asked.
 */
function accountable(bank: Partial<Variants>): Partial<Variants> {
  if (bank.linkReads !== 'refused') return bank;
  const omitFromLists = (bank.omitFromLists ?? []).filter((field) => field !== 'customerInstructionId');
  return { ...bank, omitFromLists, optionalFields: 'sent' };
}

/** The same bank for the same seed, each variant on its own: a new one changes none of the others. */
function randomBank(seed: number): Partial<Variants> {
  const names = Object.keys(LAWFUL) as (keyof Variants)[];
  return Object.fromEntries(
    names.map((name) => {
      const values: readonly unknown[] = LAWFUL[name];
      const drawn = createHash('sha256').update(`${seed} ${name}`).digest().readUInt32BE();
      return [name, values[drawn % values.length]];
    }),
  );
}
