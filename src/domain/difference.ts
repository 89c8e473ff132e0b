/** How a run may differ from the pay before it, in the order in which people are told. */
export const DIFFERENCE_KINDS = ['JOINED', 'LEFT', 'NET_CHANGED', 'IBAN_CHANGED', 'NAME_CHANGED'] as const;
export type DifferenceKind = (typeof DIFFERENCE_KINDS)[number];

/**
 * One line per kind, for people. "Before" is the latest earlier period in which a payment of
 * this kind of pay settled and did not come back.
 */
export const DIFFERENCE_MEANING: Readonly<Record<DifferenceKind, string>> = {
  JOINED: 'The employee was not paid before.',
  LEFT: 'The employee was paid before, and neither by the run nor so far by another one of its period; not told of a supplement.',
  NET_CHANGED:
    'The employee is paid more or less than before by more than the employer’s netChangeBasisPoints.',
  IBAN_CHANGED: 'The employee was paid before, but not to this IBAN.',
  NAME_CHANGED: 'The IBAN was paid before, but not under this name.',
};

/** Payments to an IBAN that was not their employee's before: a person looks at each before the run is approved. */
export const TICKED_KINDS: readonly DifferenceKind[] = ['JOINED', 'IBAN_CHANGED'];
