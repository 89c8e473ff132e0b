import { z } from 'zod';

/**
 * Choices the interface document leaves open. Each value is lawful; a client must live with all of them.
 */
export interface Variants {
  /** Whether `Amount.value` counts cents (`minor`) or euros with up to two decimals (`major`). */
  amountUnit: 'minor' | 'major';
  /**
   * Whether answers carry `Amount.value` as a JSON number or as a string; requests may use either, a direct submission
   * a string only.
   */
  amountType: 'number' | 'string';
  /**
   * Whether the calculated amount of an instruction, the totals of its groups and `availableBalance` are exact, or added up
   * in euro in binary floats, which leave their noise at the end.
   */
  sums: 'exact' | 'float';
  /** The number of the first page. */
  pageBase: 0 | 1;
  /** Where pages count from 1, page 0 is answered with 400, or 500. */
  pageZero: 'refused' | 'fails';
  /**
   * Whether `count` of a list envelope is the length of the page, of the whole list, of that with what others hold in it, or of
   * all there are whatever is asked for.
   */
  countMeans: 'page' | 'total' | 'places' | 'everything';
  /** The most that `count` says; 0 for any number. */
  countUpTo: number;
  /**
   * So many records of others stand in the list of payment transactions behind the first `othersAfter` that a token may see: a
   * page is made with them, and they are taken out of it.
   */
  recordsOfOthers: number;
  /** How many payments the list of payment transactions shows before what others hold. */
  othersAfter: number;
  /** The most items on a page. */
  maxPageSize: number;
  /** A larger `pageSize` than the most is answered with that many items, or with 400. */
  largePages: 'capped' | 'refused';
  /** Lists that ignore `page` and `pageSize` and read `limit` and `offset` instead. */
  ignorePageParams: boolean;
  /**
   * Whether lists whose parameters the document does not show (products, accounts, payments of an instruction) are paged, or
   * answer any parameter with 400 and all there is without one.
   */
  unshownParams: 'read' | 'refused';
  /**
   * Which `fromDate` the list of payment transactions takes: any, one up to a week ago on the bank's clock, or none,
   * else 400; or any, and shows nothing then that has not settled.
   */
  fromDates: 'every' | 'of-a-week' | 'none' | 'of-settlement';
  /** Whether the list of payment transactions shows all of them, or none that has settled, or none before its submit. */
  generalList: 'all' | 'unsettled' | 'submitted';
  /** Whether the payments of one instruction come in pages, or all of them in every answer. */
  instructionList: 'paged' | 'whole';
  /** Whether the records of the list of one instruction are as those of others, or leave out their status. */
  instructionRecords: 'whole' | 'without-status';
  /** A page of a list that holds nothing: an envelope, or one that leaves out `items`, or 404, or 204 without a body. */
  emptyLists: 'envelope' | 'without-items' | '404' | '204';
  /**
   * Reads of instructions and payment transactions show their statuses by this much in the past, on the bank's clock;
   * what is younger is not there yet: 404, and not listed.
   */
  listingLagMs: number;
  /**
   * Whether a payment takes its amount and charge off `availableBalance` when its turn to be debited comes, or, as far as
   * that suffices, from its add on, until it ends or is deleted.
   */
  reserves: 'at-debit' | 'at-add';
  /** A second submit of one instruction answers 409, or is executed: the money moves again. */
  secondSubmit: 'refused' | 'executed';
  /** An add after the submit answers 409, or is accepted and paid. */
  addAfterSubmit: 'refused' | 'accepted';
  /** Whether an instruction takes adds side by side, or one at a time: another one meanwhile answers 409. */
  addsOfOne: 'side-by-side' | 'in-turn';
  /** An add to an instruction answers 404 for so long after it was initiated, on the bank's clock. */
  addableAfterMs: number;
  /** Whether an add beside another, or too early, answers as `addsOfOne` and `addableAfterMs` say, or 422. */
  untimelyAdds: 'as-said' | 'refused';
  /**
   * The reads the document names only as links: allowed, or answered with 403, or with 401 as an unknown token is, or with 404,
   * as a path that is none: all of them, or all but the list of an instruction.
   */
  linkReads: 'allowed' | 'refused' | 'unauthorised' | 'missing' | 'list-alone';
  /** Whether lists show payments from their add on, or only once their instruction was submitted. */
  listsShow: 'added' | 'submitted';
  /** What records in lists leave out. */
  omitFromLists: readonly ('parties' | 'messageId' | 'customerInstructionId')[];
  /**
   * Whether both ids of a payment are one number, or `paymentTransactionIdentification.id` is of a sequence of its own,
   * 50 behind, so that it is the other id of another payment; paths take `paymentTransactionInternalInformation.id`.
   */
  paymentIds: 'one-sequence' | 'two-sequences';
  /** Whether payment records carry what the document calls optional in them, in any answer. */
  optionalFields: 'sent' | 'left-out';
  /** Whether payment records leave out what they have not, such as the settlement date of one that failed, or write "". */
  absentTexts: 'left-out' | 'empty';
  /** Records and list envelopes carry fields no document names, nested ones too. */
  unknownFields: boolean;
  /** Answers write IBANs in groups of four. */
  respaceIbans: boolean;
  /** Answers double the spaces in names. */
  respaceNames: boolean;
  /** Answers write names in capitals. */
  upperCaseNames: boolean;
  /** Answers write the references of instructions, and the message ids of payments, in capitals. */
  upperCaseReferences: boolean;
  /** A submit, direct too, whose requested count or total differs from the calculated one answers 422. */
  enforceControlTotals: boolean;
  /** The status code of a submit (the document says 201 for step 3), of a direct one too. */
  submitStatus: 200 | 201 | 202;
  /**
   * Step 3 only: whether a submit is checked before it is answered, or answers at SUB_STARTED without
   * `paymentTransactionsStatus`; the rest of the instruction's statuses and the groups follow one step later.
   */
  submitRuns: 'at-once' | 'later';
  /**
   * Whether a submitted instruction shows its groups once it was checked, or from its submit on, until then with the
   * first half of its payments: none of one.
   */
  groupsFill: 'at-once' | 'progressively';
  /** What the groups of an instruction leave out: nothing, payments that failed, or those that settled too. */
  groupsLeaveOut: 'nothing' | 'failed' | 'ended';
  /** Step 3 only: the last status of a transfer within the bank, at which its money moves. */
  bookEnds: 'SETTLED' | 'SUBMITTED';
  /**
   * What a submitted instruction, a directly submitted one too, waits for, at SUB_STRONG_AUTH_REQUIRED or
   * C_INST_WAITING_FOR_APPROVAL, its payments with it, until `POST /sandbox/instructions/{id}/release` or `/refuse`.
   */
  submitWaitsFor: 'nothing' | 'strong-authentication' | 'approval';
  /** Whether a refusal of what a submitted instruction waits for ends its payments with it, or leaves them as they were. */
  refusalEnds: 'its-payments' | 'itself';
  /**
   * Whether a payment that fails its own checks after the submit ends there, or is left at the last step it passed, with
   * the group status NOTPROCESSABLE where `optionalFields` are sent.
   */
  failedChecks: 'end-it' | 'leave-it';
  /**
   * Whether payments that failed the checks of their add are in the calculated count and total, and in lists; left out of
   * a list they are in neither.
   */
  failedAtAdd: 'counted' | 'not-counted' | 'not-listed';
  /**
   * Whether an instruction is shown on once it was submitted, or is gone: a read of it answers 404 and a delete 204, while
   * the general list shows its payments as before, and its own list too unless that is gone with it.
   */
  onceSubmitted: 'shown' | 'gone' | 'gone-with-its-list';
  /** The status in which payments wait for a later execution date. */
  waitsAs: 'WAREHOUSED' | 'PRO_WAIT_SETTLEMENT_DATE';
  /**
   * Whether an instruction stays at SUB_REQUIRED (a directly submitted one at READY_FOR_PROCESSING), or ends when all
   * its payments have: SETTLED, or FAILED when none of them settled.
   */
  instructionEnds: 'SUB_REQUIRED' | 'with-its-payments';
  /** `{code, message}` or `{error: {code, message}}`. */
  errorShape: 'flat' | 'nested';
  /** Whether `id` of a webhook names the event or the entity it is about. */
  webhookId: 'event' | 'entity';
  /**
   * What of a webhook is signed: the bytes that are sent, or the payload as `JSON.stringify` writes it while the body
   * is sent with line breaks and indentation.
   */
  signs: 'sent-bytes' | 'compact-json';
  /**
   * What the token endpoint takes: client id and secret in a JSON body, or in a form, or in HTTP Basic beside a form (RFC
   * 6749, 2.3.1).
   */
  tokenForm: 'json' | 'form' | 'basic';
  /** Lifetime of a token from the token endpoint, on the bank's clock. */
  tokenLifetimeS: number;
  /** Whether each token of a client lives to its end, or a new one ends those before it. */
  tokensLive: 'side-by-side' | 'until-the-next';
  /** What a hook without any associated identity receives. */
  hooksWithoutIdentity: 'nothing' | 'everything';
  /** What the end of a hook, and the association of an identity, are answered with: a message, or 204. */
  hookAnswers: 'message' | 'nothing';
  /** Deliveries a minute per webhook address (the document says 100). */
  webhooksPerMinute: number;
  /** Step 3 only: how often SUB_IS_VALID appears in the history of a submitted instruction (it "may repeat"). */
  subIsValidRepeats: number;
  /**
   * Whether execution dates may be any day, or TARGET days only (else 422), or any day with closed ones executed on
   * the `next` TARGET day.
   */
  executionDays: 'every' | 'target' | 'next';
  /** Cents the debtor is charged for each outward payment to another bank, when it settles. */
  chargeMinor: number;
  /** Whether records write a charge as an amount, or as what is taken from the account, negative as in its entries. */
  chargeSign: 'positive' | 'negative';
  /** Cents the other bank keeps of each payment that it returns: what is left comes back, and is its amount from then on. */
  returnChargeMinor: number;
  /** Requests a minute before 429, told in `X-RateLimit-*` headers; 0 is without a limit. */
  requestsPerMinute: number;
  /** Subscriptions list `account.credited` too, an event the document observed and does not explain; none is sent. */
  creditedEvent: boolean;
}

export const DEFAULT_VARIANTS: Readonly<Variants> = {
  amountUnit: 'minor',
  amountType: 'number',
  sums: 'exact',
  pageBase: 1,
  pageZero: 'refused',
  countMeans: 'total',
  countUpTo: 0,
  recordsOfOthers: 0,
  othersAfter: 20,
  maxPageSize: 100,
  largePages: 'capped',
  ignorePageParams: false,
  unshownParams: 'read',
  fromDates: 'every',
  generalList: 'all',
  instructionList: 'paged',
  instructionRecords: 'whole',
  emptyLists: 'envelope',
  listingLagMs: 0,
  reserves: 'at-debit',
  secondSubmit: 'refused',
  addAfterSubmit: 'refused',
  addsOfOne: 'side-by-side',
  addableAfterMs: 0,
  untimelyAdds: 'as-said',
  linkReads: 'allowed',
  listsShow: 'added',
  omitFromLists: [],
  paymentIds: 'one-sequence',
  optionalFields: 'sent',
  absentTexts: 'left-out',
  unknownFields: false,
  respaceIbans: false,
  respaceNames: false,
  upperCaseNames: false,
  upperCaseReferences: false,
  enforceControlTotals: false,
  submitStatus: 201,
  submitRuns: 'at-once',
  groupsFill: 'at-once',
  groupsLeaveOut: 'nothing',
  bookEnds: 'SETTLED',
  submitWaitsFor: 'nothing',
  refusalEnds: 'its-payments',
  failedChecks: 'end-it',
  failedAtAdd: 'counted',
  onceSubmitted: 'shown',
  waitsAs: 'WAREHOUSED',
  instructionEnds: 'SUB_REQUIRED',
  errorShape: 'flat',
  webhookId: 'event',
  signs: 'sent-bytes',
  tokenForm: 'json',
  tokenLifetimeS: 600,
  tokensLive: 'side-by-side',
  hooksWithoutIdentity: 'nothing',
  hookAnswers: 'message',
  webhooksPerMinute: 100,
  subIsValidRepeats: 1,
  executionDays: 'every',
  chargeMinor: 0,
  chargeSign: 'positive',
  returnChargeMinor: 0,
  requestsPerMinute: 0,
  creditedEvent: false,
};

interface Rule<T> {
  schema: z.ZodType<T>;
  /** The lawful values, in words for whoever gave another. */
  lawful: string;
}

const flag: Rule<boolean> = { schema: z.boolean(), lawful: 'true or false' };
const choice = <const T extends string | number>(...values: T[]): Rule<T> => ({
  schema: z.literal(values),
  lawful: values.map((value) => JSON.stringify(value)).join(' or '),
});
const whole = (min: number, max: number): Rule<number> => ({
  schema: z.int().min(min).max(max),
  lawful: `a whole number from ${min} to ${max}`,
});
const listOf = <const T extends string>(...values: T[]): Rule<T[]> => ({
  schema: z.array(z.enum(values)).max(values.length),
  lawful: `a list of ${values.map((value) => JSON.stringify(value)).join(', ')}`,
});

/** Nine digits, as other numbers the sandbox is started with: eleven days, or more requests than a minute holds. */
const MANY = 999_999_999;
/** The history of one instruction has room for 64 transitions. */
const MAX_REPEATS = 50;
/** A page of more payments would be an answer of many megabytes. */
const MAX_PAGE_SIZE = 10_000;
/** 999.99 EUR: above any charge for one credit transfer. */
const MAX_CHARGE_MINOR = 99_999;

const RULES: { readonly [K in keyof Variants]: Rule<Variants[K]> } = {
  amountUnit: choice('minor', 'major'),
  amountType: choice('number', 'string'),
  sums: choice('exact', 'float'),
  pageBase: choice(0, 1),
  pageZero: choice('refused', 'fails'),
  countMeans: choice('page', 'total', 'places', 'everything'),
  countUpTo: whole(0, MANY),
  recordsOfOthers: whole(0, MANY),
  othersAfter: whole(0, MANY),
  maxPageSize: whole(1, MAX_PAGE_SIZE),
  largePages: choice('capped', 'refused'),
  ignorePageParams: flag,
  unshownParams: choice('read', 'refused'),
  fromDates: choice('every', 'of-a-week', 'none', 'of-settlement'),
  generalList: choice('all', 'unsettled', 'submitted'),
  instructionList: choice('paged', 'whole'),
  instructionRecords: choice('whole', 'without-status'),
  emptyLists: choice('envelope', 'without-items', '404', '204'),
  listingLagMs: whole(0, MANY),
  reserves: choice('at-debit', 'at-add'),
  secondSubmit: choice('refused', 'executed'),
  addAfterSubmit: choice('refused', 'accepted'),
  addsOfOne: choice('side-by-side', 'in-turn'),
  addableAfterMs: whole(0, MANY),
  untimelyAdds: choice('as-said', 'refused'),
  linkReads: choice('allowed', 'refused', 'unauthorised', 'missing', 'list-alone'),
  listsShow: choice('added', 'submitted'),
  omitFromLists: listOf('parties', 'messageId', 'customerInstructionId'),
  paymentIds: choice('one-sequence', 'two-sequences'),
  optionalFields: choice('sent', 'left-out'),
  absentTexts: choice('left-out', 'empty'),
  unknownFields: flag,
  respaceIbans: flag,
  respaceNames: flag,
  upperCaseNames: flag,
  upperCaseReferences: flag,
  enforceControlTotals: flag,
  submitStatus: choice(200, 201, 202),
  submitRuns: choice('at-once', 'later'),
  groupsFill: choice('at-once', 'progressively'),
  groupsLeaveOut: choice('nothing', 'failed', 'ended'),
  bookEnds: choice('SETTLED', 'SUBMITTED'),
  submitWaitsFor: choice('nothing', 'strong-authentication', 'approval'),
  refusalEnds: choice('its-payments', 'itself'),
  failedChecks: choice('end-it', 'leave-it'),
  failedAtAdd: choice('counted', 'not-counted', 'not-listed'),
  onceSubmitted: choice('shown', 'gone', 'gone-with-its-list'),
  waitsAs: choice('WAREHOUSED', 'PRO_WAIT_SETTLEMENT_DATE'),
  instructionEnds: choice('SUB_REQUIRED', 'with-its-payments'),
  errorShape: choice('flat', 'nested'),
  webhookId: choice('event', 'entity'),
  signs: choice('sent-bytes', 'compact-json'),
  tokenForm: choice('json', 'form', 'basic'),
  tokenLifetimeS: whole(1, MANY),
  tokensLive: choice('side-by-side', 'until-the-next'),
  hooksWithoutIdentity: choice('nothing', 'everything'),
  hookAnswers: choice('message', 'nothing'),
  webhooksPerMinute: whole(1, MANY),
  subIsValidRepeats: whole(1, MAX_REPEATS),
  executionDays: choice('every', 'target', 'next'),
  chargeMinor: whole(0, MAX_CHARGE_MINOR),
  chargeSign: choice('positive', 'negative'),
  returnChargeMinor: whole(0, MAX_CHARGE_MINOR),
  requestsPerMinute: whole(0, MANY),
  creditedEvent: flag,
};

/** Every variant there is. */
export function variantNames(): (keyof Variants)[] {
  return Object.keys(RULES).filter(isVariant);
}

/** The values a variant may have, in words. */
export function lawfulValues(name: keyof Variants): string {
  return RULES[name].lawful;
}

/**
 * All variants, those not given at their defaults. Throws one error that names every variant there is not, and every
 * value that is not lawful with those that are.
 */
export function completeVariants(given: unknown = {}): Variants {
  if (given === null || typeof given !== 'object' || Array.isArray(given))
    throw new Error('variants must be an object of names and values, such as {"amountUnit":"major"}');
  const chosen = Object.entries(given).filter(([, value]) => value !== undefined);
  const faults = chosen.flatMap(([name, value]) => faultOf(name, value) ?? []);
  if (faults.length > 0) throw new Error(faults.join('; '));
  return { ...DEFAULT_VARIANTS, ...(Object.fromEntries(chosen) as Partial<Variants>) };
}

function faultOf(name: string, value: unknown): string | undefined {
  if (!isVariant(name)) return `there is no variant ${name}; the variants are ${variantNames().join(', ')}`;
  const { schema, lawful } = RULES[name];
  return schema.safeParse(value).success ? undefined : `variant ${name} must be ${lawful}`;
}

function isVariant(name: string): name is keyof Variants {
  return Object.hasOwn(RULES, name);
}
