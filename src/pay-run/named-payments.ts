import { DomainError } from '../domain/errors';
import { MOST_NAMED, textOfFirstFew } from '../domain/first-few';
import { showId } from '../http/prefixed-id';

/** What is said where payments are named of which it cannot be done: `not` without a full stop, for their names follow. */
interface Saying {
  code: string;
  not: string;
}

/**
 * Refuses payments that a person named and that are not among those of which it can be done.
 * @throws DomainError with the code, naming the payments that are not
 */
export function assertAllAmong(
  paymentIds: readonly string[],
  among: ReadonlySet<string>,
  { code, not }: Saying,
): void {
  const others = paymentIds.filter((id) => !among.has(id)).map((id) => showId('pay', id));
  if (others.length > 0) throw new DomainError(code, `${not}: ${textOfFirstFew(others, MOST_NAMED)}.`);
}
