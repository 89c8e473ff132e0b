/**
 * Choices the interface document leaves open. Each value is lawful; a client must live with all of them.
 */
export interface Variants {
  /** Whether `Amount.value` counts cents (`minor`) or euros with up to two decimals (`major`). */
  amountUnit: 'minor' | 'major';
  /** Whether answers carry `Amount.value` as a JSON number or as a string; requests may use either. */
  amountType: 'number' | 'string';
  /** The number of the first page. */
  pageBase: 0 | 1;
  /** Whether `count` of a list envelope is the length of the page or of the whole list. */
  countMeans: 'page' | 'total';
  /** A larger `pageSize` is answered with this many items. */
  maxPageSize: number;
  /** Lists that ignore `page` and `pageSize` and read `limit` and `offset` instead. */
  ignorePageParams: boolean;
  /** Reads of instructions and payment transactions show the past by this much, on the bank's clock. */
  listingLagMs: number;
  /** A second submit of one instruction answers 409, or is executed: the money moves again. */
  secondSubmit: 'refused' | 'executed';
  /** An add after the submit answers 409, or is accepted and paid. */
  addAfterSubmit: 'refused' | 'accepted';
  /** The reads the document names only as links: allowed, or answered with 403. */
  linkReads: 'allowed' | 'refused';
  /** What records in lists leave out. */
  omitFromLists: readonly ('parties' | 'messageId')[];
  /** Answers write IBANs in groups of four. */
  respaceIbans: boolean;
  /** Answers write names in capitals. */
  upperCaseNames: boolean;
  /** A submit whose requested count or total differs from the calculated one answers 422. */
  enforceControlTotals: boolean;
  /** The status code of a submit (the document says 201). */
  submitStatus: 200 | 201 | 202;
  /** `{code, message}` or `{error: {code, message}}`. */
  errorShape: 'flat' | 'nested';
  /** Whether `id` of a webhook names the event or the entity it is about. */
  webhookId: 'event' | 'entity';
  /** Lifetime of a token from the token endpoint, on the bank's clock. */
  tokenLifetimeS: number;
  /** What a hook without any associated identity receives. */
  hooksWithoutIdentity: 'nothing' | 'everything';
  /** Deliveries a minute per webhook address (the document says 100). */
  webhooksPerMinute: number;
  /** How often SUB_IS_VALID appears in the history of a submitted instruction (it "may repeat"). */
  subIsValidRepeats: number;
  /** Whether execution dates may be any day, or TARGET days only (else 422). */
  executionDays: 'every' | 'target';
  /** Requests a minute before 429, told in `X-RateLimit-*` headers; 0 is without a limit. */
  requestsPerMinute: number;
}

export const DEFAULT_VARIANTS: Readonly<Variants> = {
  amountUnit: 'minor',
  amountType: 'number',
  pageBase: 1,
  countMeans: 'total',
  maxPageSize: 100,
  ignorePageParams: false,
  listingLagMs: 0,
  secondSubmit: 'refused',
  addAfterSubmit: 'refused',
  linkReads: 'allowed',
  omitFromLists: [],
  respaceIbans: false,
  upperCaseNames: false,
  enforceControlTotals: false,
  submitStatus: 201,
  errorShape: 'flat',
  webhookId: 'event',
  tokenLifetimeS: 600,
  hooksWithoutIdentity: 'nothing',
  webhooksPerMinute: 100,
  subIsValidRepeats: 1,
  executionDays: 'every',
  requestsPerMinute: 0,
};

/** All variants, those not given at their defaults. Throws for a name that is none. */
export function completeVariants(given: Partial<Variants> = {}): Variants {
  for (const name of Object.keys(given))
    if (!(name in DEFAULT_VARIANTS)) throw new Error(`there is no variant ${name}`);
  return { ...DEFAULT_VARIANTS, ...given };
}
