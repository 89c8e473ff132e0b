import { segment } from './link';
import type { Outcome } from './outcome';
import type { BankSession } from './session';
import { PATHS } from './types';

/** Products and accounts: the distributor's users. */
export class Users {
  constructor(private readonly session: BankSession) {}

  /** Closes a user and all their accounts for good. Scope `user_deactivate` (Products and accounts). */
  close(userId: string): Promise<Outcome<undefined>> {
    return this.session.change({ method: 'DELETE', path: PATHS.user(segment(userId)) });
  }
}
