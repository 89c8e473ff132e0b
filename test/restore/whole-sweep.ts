import type { Sweep } from '../../src/restore/restore-sweep';

/** What is found after a restore where the bank shows everything, and nothing that the record does not have. */
export const WHOLE_SWEEP: Sweep = {
  readable: true,
  showsUnsubmitted: true,
  unknown: [],
  moved: [],
  unidentified: [],
  unread: 0,
};
