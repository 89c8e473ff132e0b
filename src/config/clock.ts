/** The service's wall clock, injected so that tests can move a month in a second. Leases use the database's clock. */
export class Clock {
  now(): Date {
    return new Date();
  }
}
