import { ROWS_IN_BATCHES } from './batch-trials';
import { DATABASE_SETTINGS } from './database-trials';
import type { StandOptions } from './stand';
import type { StandKind } from './trial';
import { TRUE_LENGTH } from './true-length-trials';

/** The banks and services that trials and mixtures need; that of the longest trials first, so that all end together. */
export const STANDS: Readonly<Record<StandKind, StandOptions>> = {
  // Polling is slow enough for webhooks to matter.
  hooked: { hooked: true, settings: { FOLLOW_DELAYS_MS: '2000' } },
  plain: {},
  // Its trials turn on one answer, or ask nobody anything, and none hangs: no answer is lost to a busy machine.
  patient: { settings: { BANK_TIMEOUT_MS: '20000' } },
  // A batch takes its time on a busy machine.
  batches: { rowsPerInstruction: ROWS_IN_BATCHES, settings: { BANK_TIMEOUT_MS: '3000' } },
  // Its bank's clock may be moved on.
  shifted: {},
  'settles-later': { sandbox: { stepMs: 60_000 } },
  credentials: { sandbox: { variants: { tokenLifetimeS: 2 } } },
  'no-links': { sandbox: { variants: { linkReads: 'refused' } } },
  lagging: { sandbox: { variants: { listingLagMs: 280 } } },
  'lagging-beyond': { sandbox: { variants: { listingLagMs: 600 } } },
  'minute-behind': {
    sandbox: { variants: { listingLagMs: 60_000 } },
    settings: { BANK_LAG_BOUND_MS: '61000' },
  },
  'ignores-pages': { sandbox: { variants: { ignorePageParams: true, maxPageSize: 2 } } },
  'small-pages': { sandbox: { variants: { maxPageSize: 2 } } },
  'add-after-submit': { sandbox: { variants: { addAfterSubmit: 'accepted' } } },
  'true-length': TRUE_LENGTH.database,
  'true-length-hooked': TRUE_LENGTH.hooked,
  database: { ownDatabase: true, settings: DATABASE_SETTINGS },
  'second-submit': { sandbox: { variants: { secondSubmit: 'executed' } } },
};
