/** The kinds of attention with which the service stops an employer. */
export const STOPS_EMPLOYER = ['CREDENTIALS', 'INVARIANT_BREACH'] as const;

/** The kinds of attention that throw the switch of everything; the switch names one of them as its reason. */
export const STOPS_EVERYTHING = [
  'INVARIANT_BREACH',
  'TOTAL_MISMATCH_AFTER_SUBMIT',
  'FOREIGN_RECORD',
  'RESTORED',
] as const;
