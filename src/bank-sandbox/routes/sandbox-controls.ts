import { z } from 'zod';
import { timestamp } from '../clock';
import { type Faults, type FaultScript, faultScript } from '../faults';
import { type Answer, pathPattern, type Route } from '../http/exchange';
import { parsed } from '../http/requests';
import { RawNumber } from '../json';
import { MAGIC_CREDITORS } from '../magic';
import { conflict, unprocessable } from '../refusal';
import type { Ticker } from '../ticker';
import { ledgerView, portalAccounts } from './ledger-view';
import { type BankRoutes, wholeNumberParam } from './routes';

const ok: Answer = { status: 200, body: {} };

/** The IBAN registry's own example. */
const OUTSIDE_IBAN = 'FR1420041010050500013M02606';

/** A year: far enough for every return and retry, near enough for every timer. */
const MAX_ADVANCE_MS = 366 * 24 * 60 * 60 * 1_000;

const clockMove = z.union([
  z.strictObject({ advanceMs: z.int().min(0).max(MAX_ADVANCE_MS) }),
  z.strictObject({ now: z.iso.datetime({ offset: true }) }),
  z.strictObject({ date: z.iso.date() }),
]);

const ibanStructureChange = z.strictObject({
  event: z.enum(['iban_structure.created', 'iban_structure.field_updated', 'iban_structure.file_imported']),
});

/** Eleven digits hold any amount of the interface. */
const posting = z.strictObject({
  accountId: z.string().min(1).max(15),
  type: z.enum(['FEE', 'DISTRIBUTOR_POSTING']),
  amountMinor: z.string().regex(/^[1-9]\d{0,10}$/),
  direction: z.enum(['DEBIT', 'CREDIT']).optional(),
  paymentId: z.int().optional(),
});

const POSTING =
  'type is FEE or DISTRIBUTOR_POSTING (a REFUND follows its payment), amountMinor whole cents as a string, direction DEBIT or CREDIT, paymentId what a FEE is charged for';

/** The sandbox's own address space: what a test or a demo needs and a bank does not offer. Needs no token. */
export function sandboxRoutes(
  context: BankRoutes,
  sandbox: { faults: Faults; ticker: Ticker; calls: () => Readonly<Record<string, number>> },
): Route[] {
  return [
    ...clockRoutes(context, sandbox.ticker),
    ...readRoutes(context),
    ...stageRoutes(context),
    ...instructionRoutes(context),
    ...faultRoutes(sandbox),
  ];
}

function clockRoutes({ bank }: BankRoutes, ticker: Ticker): Route[] {
  const { clock } = bank;
  const path = pathPattern('/sandbox/clock');
  const view = (): Answer => {
    const nowMs = clock.now();
    return { status: 200, body: { now: timestamp(nowMs), date: clock.dateOf(nowMs) } };
  };
  return [
    { operation: 'sandbox', method: 'GET', path, handle: view },
    {
      operation: 'sandbox',
      method: 'POST',
      path,
      handle: async ({ body }) => {
        const nowMs = clock.now();
        const targetMs = targetOf(parsed(clockMove, body), bank, nowMs);
        if (targetMs < nowMs) throw unprocessable('CLOCK_BACKWARDS', 'a bank cannot go back in time');
        bank.execute('moveClock', { offsetMs: clock.offsetTo(targetMs) });
        await ticker.drain();
        return view();
      },
    },
  ];
}

function targetOf(move: z.infer<typeof clockMove>, { clock }: BankRoutes['bank'], nowMs: number): number {
  if ('advanceMs' in move) return nowMs + move.advanceMs;
  if ('now' in move) return Date.parse(move.now);
  return clock.startOf(move.date) ?? 0;
}

function readRoutes({ bank }: BankRoutes): Route[] {
  const get = (path: string, answer: (query: URLSearchParams) => unknown): Route => ({
    operation: 'sandbox',
    method: 'GET',
    path: pathPattern(path),
    handle: ({ query }) => ({ status: 200, body: answer(query) }),
  });
  return [
    get('/sandbox/ledger', (query) => {
      const only = query.get('instruction');
      return ledgerView(bank, only === null ? undefined : wholeNumberParam(only));
    }),
    get('/sandbox/portal/accounts', () => portalAccounts(bank)),
    get('/sandbox/magic-creditors', () => MAGIC_CREDITORS),
    get('/sandbox/webhooks', () => ({ pending: bank.outbox.pending })),
  ];
}

function post(path: string, act: (params: string[], body: unknown) => Answer): Route {
  return {
    operation: 'sandbox',
    method: 'POST',
    path: pathPattern(path),
    handle: ({ params, body }) => act(params, body),
  };
}

/** What a person at the bank, or with the means of authentication, decides of an instruction that waits. */
function instructionRoutes({ bank }: BankRoutes): Route[] {
  const decision = (verb: string, command: 'releaseInstruction' | 'refuseInstruction'): Route =>
    post(`/sandbox/instructions/:id/${verb}`, ([text]) => {
      const { id, history } = bank.execute(command, { id: wholeNumberParam(text) });
      return { status: 200, body: { id, status: history.current } };
    });
  return [decision('release', 'releaseInstruction'), decision('refuse', 'refuseInstruction')];
}

function stageRoutes({ bank, requests }: BankRoutes): Route[] {
  const blocking = (verb: 'block' | 'unblock'): Route[] => {
    const blocked = verb === 'block';
    return [
      post(`/sandbox/accounts/:id/${verb}`, ([accountId = '']) => {
        bank.execute('blockAccount', { accountId, blocked });
        return ok;
      }),
      post(`/sandbox/identities/:id/${verb}`, ([identityId]) => {
        bank.execute('blockIdentity', { identityId: wholeNumberParam(identityId), blocked });
        return ok;
      }),
    ];
  };
  return [
    ...blocking('block'),
    ...blocking('unblock'),
    post('/sandbox/users', (_params, body) => {
      const user = requests.additionalUser(body);
      if (bank.accounts.users.has(user.userId)) throw conflict('USER_EXISTS', 'the user exists already');
      bank.execute('addUser', user);
      return { status: 201, body: user };
    }),
    post('/sandbox/iban-structures', (_params, body) => {
      bank.execute('changeIbanStructure', parsed(ibanStructureChange, body));
      return ok;
    }),
    post('/sandbox/postings', (_params, body) => {
      const {
        type,
        direction = type === 'FEE' ? 'DEBIT' : 'CREDIT',
        ...rest
      } = parsed(posting, body, POSTING);
      const { id } = bank.execute('post', { ...rest, type, direction });
      return { status: 201, body: { transactionId: String(id) } };
    }),
    post('/sandbox/incoming-payments', (_params, body) => {
      const { iban, ...named } = requests.incomingPayment(body);
      const debtor = { name: 'Outside Payer', accountId: { type: 'IBAN', value: OUTSIDE_IBAN } };
      const creditor = { name: 'Account holder', accountId: { type: 'IBAN', value: iban } };
      const { id } = bank.execute('receive', { iban, ...named, debtor, creditor });
      return { status: 201, body: { id } };
    }),
  ];
}

function faultRoutes({
  faults,
  calls,
}: {
  faults: Faults;
  calls: () => Readonly<Record<string, number>>;
}): Route[] {
  const path = pathPattern('/sandbox/faults');
  const script = (body: unknown): FaultScript => {
    const given = parsed(faultScript, asFloats(body));
    const operations = [...Object.keys(calls()), 'webhook', '*'];
    if (!operations.includes(given.operation))
      throw unprocessable('OPERATION_UNKNOWN', `operation is one of ${operations.join(', ')}`);
    return given;
  };
  return [
    {
      operation: 'sandbox',
      method: 'POST',
      path,
      handle: ({ body }) => ({ status: 201, body: faults.add(script(body)) }),
    },
    { operation: 'sandbox', method: 'GET', path, handle: () => ({ status: 200, body: faults.list() }) },
    {
      operation: 'sandbox',
      method: 'DELETE',
      path,
      handle: () => {
        faults.clear();
        return { status: 204 };
      },
    },
    {
      operation: 'sandbox',
      method: 'GET',
      path: pathPattern('/sandbox/calls'),
      handle: () => ({ status: 200, body: calls() }),
    },
  ];
}

/** A rate is a probability, not an amount. */
function asFloats(body: unknown): unknown {
  if (body === null || typeof body !== 'object') return body;
  return Object.fromEntries(
    Object.entries(body).map(([key, value]) => [
      key,
      value instanceof RawNumber ? Number(value.text) : value,
    ]),
  );
}
