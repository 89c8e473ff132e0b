import { ConfigurationError } from '../config/env';
import { readDriverError } from '../config/driver-error';
import { instantOf, IsoDate } from '../domain/business-day';
import { Database } from './database';

/** SQLSTATE of a time zone that PostgreSQL does not know. */
const UNKNOWN_ZONE = '22023';
/** No clock is changed at it. */
const NOON = '12:00';

/**
 * Checks that the database reckons with the bank's time zone as the service does, on the first of each of twelve months:
 * either has names of its own, and `BST` is British time to the one, and Bangladesh's to the other.
 * @throws ConfigurationError where it does not know the zone, or takes it for another
 */
export async function assertBankZone(database: Database, timeZone: string): Promise<void> {
  const days = await database
    .outsideEmployers((tx) =>
      tx.query<{ day: IsoDate; noon: Date }>(
        `SELECT to_char(day, 'YYYY-MM-DD') AS day, (day + $2::time) AT TIME ZONE $1 AS noon
         FROM date_trunc('month', now()::timestamp) AS first,
           generate_series(first, first + interval '11 months', interval '1 month') AS day`,
        [timeZone, NOON],
      ),
    )
    .catch((error: unknown) => {
      if (readDriverError(error)?.sqlState === UNKNOWN_ZONE) return undefined;
      throw error;
    });
  if (days?.every(({ day, noon }) => noon.getTime() === instantOf(day, NOON, timeZone).getTime())) return;
  const why =
    days === undefined
      ? 'is no time zone to the database'
      : 'is another time zone to the database than to the service';
  throw new ConfigurationError(
    `BANK_TIME_ZONE: ${timeZone} ${why}. Name an IANA time zone such as Europe/Paris that both know.`,
  );
}
