import { CallHandler, ExecutionContext, Injectable, NestInterceptor } from '@nestjs/common';
import { map, Observable } from 'rxjs';
import { EmployerRole } from '../http/allow';
import { SignedIn, SignedInRequest } from '../http/signed-in';

/** Who may know what a person earns. An operator keeps the service running and needs no salaries for it. */
export const SEE_PAYMENTS = ['preparer', 'approver', 'finance'] as const satisfies EmployerRole[];

/** A sum of one tells what that person earns, and a sum of two tells it to each of them. */
const FEWEST_PAYEES = 3;

/** Fields that are sums where they are texts. */
const SUMS: readonly string[] = ['amount', 'total', 'before'];

/** Whether somebody may know what single people earn. */
export function seesPayments({ roles }: Pick<SignedIn, 'roles'>): boolean {
  return SEE_PAYMENTS.some((role) => roles.has(role));
}

/** Answers with null for the sums of few payments to whoever may not see payments. */
@Injectable()
export class WithheldSums implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { signedIn } = context.switchToHttp().getRequest<SignedInRequest>();
    if (signedIn !== undefined && seesPayments(signedIn)) return next.handle();
    return next.handle().pipe(map(withholdSums));
  }
}

/** A document, or each one of a page, without the sums of few payments. */
export function withholdSums(shown: unknown): unknown {
  if (typeof shown !== 'object' || shown === null || !('items' in shown) || !Array.isArray(shown.items))
    return withhold(shown, isOfFew(shown));
  return { ...shown, items: shown.items.map((one: unknown) => withhold(one, isOfFew(one))) };
}

/** What stands side by side are parts of one whole: who knows it and all of them but one knows that one, too. */
function withhold(shown: unknown, sums: boolean): unknown {
  if (typeof shown !== 'object' || shown === null) return shown;
  const parts = Object.values(shown).some(isOfFew);
  if (Array.isArray(shown)) return shown.map((one: unknown) => withhold(one, parts));
  return Object.fromEntries(
    Object.entries(shown).map(([name, value]: [string, unknown]) => {
      const isSum = typeof value === 'string' && SUMS.includes(name);
      return [name, isSum && sums ? null : withhold(value, parts)];
    }),
  );
}

function isOfFew(shown: unknown): boolean {
  if (typeof shown !== 'object' || shown === null || !('payments' in shown)) return false;
  const { payments } = shown;
  return typeof payments === 'number' && payments > 0 && payments < FEWEST_PAYEES;
}
