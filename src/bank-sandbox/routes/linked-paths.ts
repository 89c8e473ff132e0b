import { PATHS, type PaymentTransaction } from '../../bank/types';
import type { Wire } from '../amounts';
import { isObject } from '../http/corruption';
import { type Answer, type BankRequest, pathPattern, type Route } from '../http/exchange';
import { notFound, Refusal } from '../refusal';
import type { InstructionRecord, PaymentRecord } from '../state/records';
import type { Variants } from '../variants';
import { asOfMs, type BankRoutes, wholeNumberParam } from './routes';
import { paymentList } from './transactions';

/** What reads that are not allowed are answered with. */
const NOT_READ: Readonly<Record<Exclude<Variants['linkReads'], 'allowed'>, number>> = {
  refused: 403,
  unauthorised: 401,
  missing: 404,
  'list-alone': 404,
};

/** Section "Paths exposed only as links"; methods, scopes and bodies are this sandbox's choice. */
export function linkedRoutes(context: BankRoutes): Route[] {
  return [...readRoutes(context), ...changeRoutes(context), ...exchangeRoutes(context)];
}

function readRoutes(context: BankRoutes): Route[] {
  const { bank, views, variants } = context;
  const { instructions } = bank;
  const own = (id: number, seenAtMs: number, gone: boolean): InstructionRecord => {
    const instruction = instructions.instruction(id, seenAtMs);
    if (gone && instruction.history.hadBy('SUB_STARTED', seenAtMs)) throw notFound('customer instruction');
    return instruction;
  };
  const isGone = variants.onceSubmitted !== 'shown';
  const isListGone = variants.onceSubmitted === 'gone-with-its-list';
  const answered =
    (answer: (id: number, seenAtMs: number, request: BankRequest) => Answer, asList = false) =>
    (request: BankRequest): Answer => {
      const { linkReads } = variants;
      if (linkReads !== 'allowed' && !(asList && linkReads === 'list-alone'))
        throw new Refusal(NOT_READ[linkReads], 'NOT_AVAILABLE', 'this read is not available to distributors');
      return answer(wholeNumberParam(request.params[0]), asOfMs(context), request);
    };
  const read = (record: (id: number, seenAtMs: number) => unknown) =>
    answered((id, seenAtMs) => ({ status: 200, body: record(id, seenAtMs) }));
  return [
    {
      operation: 'getInstruction',
      method: 'GET',
      path: pathPattern(PATHS.customerInstruction(':id')),
      scopes: ['customer-instruction_view'],
      handle: read((id, seenAtMs) => views.instruction(own(id, seenAtMs, isGone), seenAtMs)),
    },
    {
      operation: 'listInstructionPaymentTransactions',
      method: 'GET',
      path: pathPattern(PATHS.instructionPaymentTransactions(':id')),
      scopes: ['customer-instruction_view'],
      handle: answered((id, seenAtMs, { query }) => {
        const params = context.variants.instructionList === 'whole' ? 'none' : 'pages';
        const list = { params, areShown: false } as const;
        const answer = paymentList(context, own(id, seenAtMs, isListGone).payments, query, list);
        return variants.instructionRecords === 'whole' ? answer : withoutStatuses(answer);
      }, true),
    },
    {
      operation: 'getPaymentTransaction',
      method: 'GET',
      path: pathPattern(PATHS.paymentTransaction(':id')),
      scopes: ['customer-instruction_view', 'payment-instruction_view'],
      handle: read((id, seenAtMs) => views.payment(instructions.payment(id, seenAtMs), seenAtMs, false)),
    },
    {
      operation: 'getPaymentInstruction',
      method: 'GET',
      path: pathPattern(PATHS.paymentInstruction(':id')),
      scopes: ['payment-instruction_view'],
      handle: read((id, seenAtMs) =>
        views.payment(instructions.instructedPayment(id, seenAtMs), seenAtMs, false),
      ),
    },
  ];
}

/** A list whose records say nothing of how far they are. */
function withoutStatuses(answer: Answer): Answer {
  const { body } = answer;
  if (!isObject(body) || !Array.isArray(body.items)) return answer;
  const items = body.items.map((record: Wire<PaymentTransaction>) => {
    const { id } = record.paymentTransactionInternalInformation;
    return { ...record, paymentTransactionInternalInformation: { id } };
  });
  return { ...answer, body: { ...body, items } };
}

function changeRoutes({ bank, requests, views }: BankRoutes): Route[] {
  const instructionPath = pathPattern(PATHS.creditTransfer(':id'));
  const paymentPath = pathPattern(PATHS.creditTransferPaymentTransaction(':id'));
  const scopes = ['customer-instruction_initiation'] as const;
  const answer = (record: InstructionRecord) => views.instruction(record, bank.clock.now());
  return [
    {
      operation: 'updateInstruction',
      method: 'PATCH',
      path: instructionPath,
      scopes,
      handle: ({ params, body }) => {
        const id = wholeNumberParam(params[0]);
        const changes = requests.initiationChanges(body);
        return { status: 200, body: answer(bank.execute('updateInstruction', { id, changes })) };
      },
    },
    {
      operation: 'deleteInstruction',
      method: 'DELETE',
      path: instructionPath,
      scopes,
      handle: ({ params }) => {
        bank.execute('deleteInstruction', { id: wholeNumberParam(params[0]) });
        return { status: 204 };
      },
    },
    {
      operation: 'updatePayment',
      method: 'PATCH',
      path: paymentPath,
      scopes,
      handle: ({ params, body }) => {
        const id = wholeNumberParam(params[0]);
        const payment = bank.execute('updatePayment', { id, changes: requests.additionChanges(body) });
        return { status: 200, body: views.payment(payment, bank.clock.now(), false) };
      },
    },
    {
      operation: 'deletePayment',
      method: 'DELETE',
      path: paymentPath,
      scopes,
      handle: ({ params }) => {
        bank.execute('deletePayment', { id: wholeNumberParam(params[0]) });
        return { status: 204 };
      },
    },
  ];
}

function exchangeRoutes({ bank, views }: BankRoutes): Route[] {
  const scopes = ['customer-instruction_submission'] as const;
  const answer = (payment: PaymentRecord): Answer => ({
    status: 200,
    body: views.payment(payment, bank.clock.now(), false),
  });
  return [
    {
      operation: 'exchange',
      method: 'POST',
      path: pathPattern(PATHS.exchange(':id')),
      scopes,
      handle: ({ params }) =>
        answer(bank.execute('exchange', { paymentInstructionId: wholeNumberParam(params[0]) })),
    },
    {
      operation: 'refuse',
      method: 'POST',
      path: pathPattern(PATHS.refuse(':id')),
      scopes,
      handle: ({ params }) =>
        answer(bank.execute('refuse', { paymentInstructionId: wholeNumberParam(params[0]) })),
    },
  ];
}
