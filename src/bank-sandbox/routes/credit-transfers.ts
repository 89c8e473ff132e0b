import { setTimeout as sleep } from 'node:timers/promises';
import { PATHS } from '../../bank/types';
import { pathPattern, type Route } from '../http/exchange';
import { badRequest, conflict, untimely } from '../refusal';
import type { InstructionRecord } from '../state/records';
import type { Variants } from '../variants';
import { type BankRoutes, wholeNumberParam } from './routes';

/** How long an add is under way where an instruction takes one at a time. */
const ADD_MS = 3;

/** Sections "Multi-step credit transfer" and "Direct submission". */
export function creditTransferRoutes({ bank, requests, views, variants }: BankRoutes): Route[] {
  const now = (): number => bank.clock.now();
  const beingAddedTo = new Set<number>();
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
      handle: async ({ params, body }) => {
        const id = wholeNumberParam(params[0]);
        if (variants.addsOfOne === 'in-turn') await inTurn(beingAddedTo, id, variants);
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

/** Takes the turn of an instruction for a while. Throws 409, or 422, where another add of it has it. */
async function inTurn(
  taken: Set<number>,
  id: number,
  { untimelyAdds }: Pick<Variants, 'untimelyAdds'>,
): Promise<void> {
  if (taken.has(id))
    throw untimelyAdds === 'refused'
      ? untimely()
      : conflict('INSTRUCTION_BUSY', 'another payment is being added to the instruction');
  taken.add(id);
  await sleep(ADD_MS);
  taken.delete(id);
}
