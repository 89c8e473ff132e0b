import { words } from '../database/words';

/** The kinds of attention with which the service stops an employer. */
export const STOPS_EMPLOYER = ['CREDENTIALS', 'INVARIANT_BREACH'] as const;

/** Whether the attention `a` did so: what breaks of an instruction itself stops its run, or everything. */
export const STOPPED_ITS_EMPLOYER = `(a.kind IN (${words(STOPS_EMPLOYER)}) AND a.subject_id IS DISTINCT FROM a.instruction_id)`;

/** The kinds of attention that throw the switch of everything; the switch names one of them as its reason. */
export const STOPS_EVERYTHING = [
  'INVARIANT_BREACH',
  'TOTAL_MISMATCH_AFTER_SUBMIT',
  'FOREIGN_RECORD',
  'RESTORED',
] as const;
