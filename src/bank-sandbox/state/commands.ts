import type { EventName } from '../../bank/types';
import type { Seed, SeedUser } from '../seed';
import type { Variants } from '../variants';
import type { HookRecord } from '../webhooks/outbox';
import type {
  AccountRecord,
  IncomingInput,
  InstructionInput,
  InstructionRecord,
  PaymentInput,
  PaymentRecord,
  PostingInput,
  TransactionRecord,
} from './records';

/** What the outcome of commands depends on besides state and time; journalled at every start. */
export interface Configuration {
  variants: Variants;
  stepMs: number;
  timeZone: string;
}

/** What happens to the bank's table of IBAN structures; it concerns every subscriber. */
export type IbanStructureEvent = Extract<EventName, `iban_structure.${string}`>;

interface Command<Input, Result> {
  input: Input;
  result: Result;
}

/**
 * Everything that changes the bank. Inputs are plain JSON, results follow from state, input and time alone, so
 * a journal of the inputs is a journal of the state.
 */
export interface CommandMap {
  configure: Command<Configuration, void>;
  seed: Command<Seed, void>;
  moveClock: Command<{ offsetMs: number }, void>;
  advance: Command<{ maxPayments: number }, number>;
  addUser: Command<Omit<SeedUser, 'account'>, void>;
  blockAccount: Command<{ accountId: string; blocked: boolean }, AccountRecord>;
  blockIdentity: Command<{ identityId: number; blocked: boolean }, void>;
  changeIbanStructure: Command<{ event: IbanStructureEvent }, void>;
  receive: Command<IncomingInput, PaymentRecord>;
  post: Command<PostingInput & { accountId: string }, TransactionRecord>;
  openAccount: Command<{ userId: number; productId: number }, AccountRecord>;
  closeAccount: Command<{ accountId: string }, AccountRecord>;
  closeUser: Command<{ userId: number }, void>;
  initiate: Command<InstructionInput, InstructionRecord>;
  updateInstruction: Command<{ id: number; changes: Partial<InstructionInput> }, InstructionRecord>;
  deleteInstruction: Command<{ id: number }, void>;
  add: Command<{ id: number; payment: PaymentInput }, PaymentRecord>;
  updatePayment: Command<{ id: number; changes: Partial<PaymentInput> }, PaymentRecord>;
  deletePayment: Command<{ id: number }, void>;
  submit: Command<{ id: number }, InstructionRecord>;
  releaseInstruction: Command<{ id: number }, InstructionRecord>;
  refuseInstruction: Command<{ id: number }, InstructionRecord>;
  submitDirectly: Command<{ instruction: InstructionInput; payment: PaymentInput }, PaymentRecord>;
  exchange: Command<{ paymentInstructionId: number }, PaymentRecord>;
  refuse: Command<{ paymentInstructionId: number }, PaymentRecord>;
  subscribe: Command<{ name: string; url: string; events: string[] }, HookRecord>;
  unsubscribe: Command<{ hookId: number }, void>;
  associate: Command<{ hookId: number; identityId: number }, void>;
  recordAttempt: Command<{ hookId: number; deliveryId: number; ok: boolean }, void>;
}

export type CommandName = keyof CommandMap;

export type CommandHandlers = {
  [K in CommandName]: (input: CommandMap[K]['input'], atMs: number) => CommandMap[K]['result'];
};

/** One line of the journal. */
export interface CommandLine {
  command: CommandName;
  atMs: number;
  input: unknown;
}
