import { CallHandler, ExecutionContext, Injectable, NestInterceptor } from '@nestjs/common';
import { map, Observable } from 'rxjs';
import { EmployerRole } from './allow';
import { SignedIn, SignedInRequest } from './signed-in';

/** Who may know what a person earns. An operator keeps the service running and needs no salaries for it. */
export const SEE_PAYMENTS = ['preparer', 'approver', 'finance'] as const satisfies EmployerRole[];

/**
 * What tells what people earn where it is a text: sums, of which the difference of any two may be one person's pay, and
 * hashes over rows, which tell the amount to whoever knows the rest of a row and tries every amount; so do the hash of a
 * file and that of an audit entry, which covers the others.
 */
const TELLING: readonly string[] = ['amount', 'total', 'before', 'rootHash', 'sha256', 'hash'];

/** Whether somebody may know what single people earn. */
export function seesPayments({ roles }: Pick<SignedIn, 'roles'>): boolean {
  return SEE_PAYMENTS.some((role) => roles.has(role));
}

/** Answers with null for every sum, and every hash of rows, to whoever may not see payments. */
@Injectable()
export class WithheldSums implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { signedIn } = context.switchToHttp().getRequest<SignedInRequest>();
    if (signedIn !== undefined && seesPayments(signedIn)) return next.handle();
    return next.handle().pipe(map(withholdSums));
  }
}

/** A document without what tells what people earn. */
function withholdSums(shown: unknown): unknown {
  if (Array.isArray(shown)) return shown.map(withholdSums);
  if (typeof shown !== 'object' || shown === null) return shown;
  return Object.fromEntries(
    Object.entries(shown).map(([name, value]: [string, unknown]) => {
      const tells = typeof value === 'string' && TELLING.includes(name);
      return [name, tells ? null : withholdSums(value)];
    }),
  );
}
