import { PATHS } from '../../bank/types';
import { pathPattern, type Route } from '../http/exchange';
import { badRequest } from '../refusal';
import type { InstructionRecord } from '../state/records';
import { type BankRoutes, wholeNumberParam } from './routes';

/** Sections "Multi-step credit transfer" and "Direct submission". */
export function creditTransferRoutes({ bank, requests, views, variants }: BankRoutes): Route[] {
  const now = (): number => bank.clock.now();
  const instructionView = (instruction: InstructionRecord) => views.instruction(instruction, now());
  return [
    {
      operation: 'initiate',
      method: 'POST',
      path: pathPattern(PATHS.initiate()),
      scopes: ['customer-instruction_initiation'],
      handle: ({ body }) => ({
        status: 201,
        body: instructionView(bank.execute('initiate', requests.initiation(body))),
      }),
    },
    {
      operation: 'add',
      method: 'POST',
      path: pathPattern(PATHS.addPaymentTransaction(':id')),
      scopes: ['customer-instruction_initiation'],
      handle: ({ params, body }) => {
        const id = wholeNumberParam(params[0]);
        const payment = bank.execute('add', { id, payment: requests.addition(body) });
        return { status: 201, body: views.payment(payment, now(), false) };
      },
    },
    {
      operation: 'submit',
      method: 'POST',
      path: pathPattern(PATHS.submit(':id')),
      scopes: ['customer-instruction_submission'],
      handle: ({ params, body }) => {
        if (body !== undefined) throw badRequest('a submit has no body');
        const instruction = bank.execute('submit', { id: wholeNumberParam(params[0]) });
        return { status: variants.submitStatus, body: instructionView(instruction) };
      },
    },
    {
      operation: 'submitDirectly',
      method: 'POST',
      path: pathPattern(PATHS.submitDirectly()),
      scopes: ['customer-instruction_submit'],
      handle: ({ body }) => {
        const payment = bank.execute('submitDirectly', requests.directSubmission(body));
        const { instruction } = payment;
        const paymentTransaction = views.payment(payment, now(), false);
        return {
          status: variants.submitStatus,
          body: { ...(instruction && instructionView(instruction)), paymentTransaction },
        };
      },
    },
  ];
}
