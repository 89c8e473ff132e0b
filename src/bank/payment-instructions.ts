import { segment } from './link';
import type { Outcome } from './outcome';
import { paymentInstruction, type PaymentInstruction } from './schema';
import type { BankSession } from './session';
import { PATHS } from './types';

/** Payment instructions: what the bank exchanges with other banks. Methods and bodies are not shown. */
export class PaymentInstructions {
  constructor(private readonly session: BankSession) {}

  /** One payment instruction. Scope not shown (Paths exposed only as links). */
  get(paymentInstructionId: string): Promise<PaymentInstruction> {
    return this.session.read(PATHS.paymentInstruction(segment(paymentInstructionId)), paymentInstruction);
  }

  /** Hands an outward instruction to the other bank. Scope not shown (Paths exposed only as links). */
  exchange(paymentInstructionId: string): Promise<Outcome<undefined>> {
    return this.session.change({ method: 'POST', path: PATHS.exchange(segment(paymentInstructionId)) });
  }

  /** Refuses an outward instruction. Scope not shown (Paths exposed only as links). */
  refuse(paymentInstructionId: string): Promise<Outcome<undefined>> {
    return this.session.change({ method: 'POST', path: PATHS.refuse(segment(paymentInstructionId)) });
  }
}
