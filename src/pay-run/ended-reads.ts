/** What a lease lacks whose ended instruction could not be read. */
export const ENDED = 'ENDED';

/** In SQL, whether the lease `l` is of what will be read again, or is now: one whose watch is over keeps what it lacked. */
export const IS_WATCHED = `(l.wake_at < 'infinity' OR l.leased_until IS NOT NULL)`;
