import { PATHS } from '../../bank/types';
import { type Answer, pathPattern, type Route } from '../http/exchange';
import { answerOf, counted, type Others, pageOf } from '../http/paging';
import { transactionView } from '../http/transaction-view';
import { badRequest } from '../refusal';
import { isCounted } from '../state/instructions';
import type { PaymentRecord } from '../state/records';
import { asOfMs, type BankRoutes, wholeNumberParam } from './routes';

const WEEK_MS = 7 * 24 * 60 * 60 * 1_000;

/** Section "Transactions". */
export function transactionRoutes(context: BankRoutes): Route[] {
  const { bank, codec, views } = context;
  return [
    {
      operation: 'getTransaction',
      method: 'GET',
      path: pathPattern(PATHS.transaction(':id')),
      scopes: ['transaction_view'],
      handle: ({ params }) => {
        const transaction = bank.ledger.transaction(wholeNumberParam(params[0]));
        return { status: 200, body: transactionView(transaction, bank.accounts, codec, views) };
      },
    },
    {
      operation: 'listPaymentTransactions',
      method: 'GET',
      path: pathPattern(PATHS.paymentTransactions()),
      scopes: ['customer-instruction_view', 'payment-instruction_view'],
      handle: ({ query }) => {
        const shown = inGeneralList(bank.instructions.payments, context.variants, asOfMs(context));
        return paymentList(context, shown, query, { params: 'pages', areShown: true, holdsOthers: true });
      },
    },
  ];
}

function inGeneralList(
  payments: readonly PaymentRecord[],
  { generalList }: BankRoutes['variants'],
  seenAtMs: number,
): readonly PaymentRecord[] {
  switch (generalList) {
    case 'all':
      return payments;
    case 'unsettled':
      return payments.filter(({ history }) => !history.hadBy('SETTLED', seenAtMs));
    case 'submitted':
      return submittedBy(payments, seenAtMs);
  }
}

function submittedBy(payments: readonly PaymentRecord[], seenAtMs: number): PaymentRecord[] {
  return payments.filter(({ instruction }) => instruction?.history.hadBy('SUB_STARTED', seenAtMs) ?? true);
}

/** A page of payments (ascending ids) that pass the filters of the query, as the lag lets them be seen. */
export function paymentList(
  context: BankRoutes,
  all: readonly PaymentRecord[],
  query: URLSearchParams,
  list: { params: 'pages' | 'none'; areShown: boolean; holdsOthers?: boolean },
): Answer {
  const { variants } = context;
  const seenAtMs = asOfMs(context);
  const payments = listed(all, variants, seenAtMs);
  const filter = filterOf(context, query, seenAtMs);
  const visible = visibleCount(payments, seenAtMs);
  const items = filter ? payments.slice(0, visible).filter(filter) : payments;
  const total = filter ? items.length : visible;
  const others = list.holdsOthers ? othersIn(items, payments, variants) : undefined;
  const page = pageOf(items, total, query, { sort: '+paymentTransactionId', ...list, others }, variants);
  const shown = page.items.map((payment) => context.views.payment(payment, seenAtMs, true));
  const { countMeans } = variants;
  const everything = counted(context.bank.instructions.payments.length, variants);
  const count = countMeans === 'everything' ? everything : page.count;
  return answerOf({ ...page, count, items: shown }, variants);
}

/** Where others' records stand in a filtered list: behind the same payment as in the whole one. */
function othersIn(
  items: readonly PaymentRecord[],
  all: readonly PaymentRecord[],
  { recordsOfOthers, othersAfter }: BankRoutes['variants'],
): Others | undefined {
  const next = all[othersAfter];
  if (recordsOfOthers === 0 || next === undefined) return undefined;
  const after = items.findIndex(({ id }) => id >= next.id);
  return after === -1 ? undefined : { after, records: recordsOfOthers };
}

function listed(
  all: readonly PaymentRecord[],
  variants: BankRoutes['variants'],
  seenAtMs: number,
): readonly PaymentRecord[] {
  let payments = all;
  if (variants.failedAtAdd === 'not-listed')
    payments = payments.filter((payment) => isCounted(payment, variants));
  return variants.listsShow === 'submitted' ? submittedBy(payments, seenAtMs) : payments;
}

/** Ids and creation times rise together, so the visible ones are a beginning of the list. */
function visibleCount(payments: readonly PaymentRecord[], seenAtMs: number): number {
  let low = 0;
  let high = payments.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((payments[middle]?.createdAtMs ?? 0) <= seenAtMs) low = middle + 1;
    else high = middle;
  }
  return low;
}

function filterOf(
  { bank, codec, variants }: BankRoutes,
  query: URLSearchParams,
  seenAtMs: number,
): ((payment: PaymentRecord) => boolean) | undefined {
  const tests: ((payment: PaymentRecord) => boolean)[] = [];
  const status = query.get('status');
  if (status !== null) tests.push(({ history }) => history.statusAt(seenAtMs) === status);
  const fromMs = momentOf(query, 'fromDate');
  if (fromMs !== undefined && !takesFrom(variants, bank.clock.now() - fromMs))
    throw badRequest('fromDate is refused');
  if (fromMs !== undefined && variants.fromDates === 'of-settlement')
    tests.push(({ history }) => history.hadBy('SETTLED', seenAtMs));
  else if (fromMs !== undefined) tests.push(({ createdAtMs }) => createdAtMs >= fromMs);
  const toMs = momentOf(query, 'toDate');
  if (toMs !== undefined) tests.push(({ createdAtMs }) => createdAtMs <= toMs);
  const minAmount = query.get('minAmount');
  const minMinor = minAmount === null ? undefined : codec.read(minAmount);
  if (minMinor !== undefined) tests.push(({ amountMinor }) => amountMinor >= minMinor);
  const maxAmount = query.get('maxAmount');
  const maxMinor = maxAmount === null ? undefined : codec.read(maxAmount);
  if (maxMinor !== undefined) tests.push(({ amountMinor }) => amountMinor <= maxMinor);
  if (tests.length === 0) return undefined;
  return (payment) => tests.every((test) => test(payment));
}

function takesFrom({ fromDates }: BankRoutes['variants'], agoMs: number): boolean {
  return ['every', 'of-settlement'].includes(fromDates) || (fromDates === 'of-a-week' && agoMs <= WEEK_MS);
}

function momentOf(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  const ms = Date.parse(text);
  if (!/^\d{4}-\d{2}-\d{2}T/.test(text) || Number.isNaN(ms)) throw badRequest(`${name} is not a date-time`);
  return ms;
}
