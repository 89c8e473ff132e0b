import { IsoDate, monthsBetween, Period, periodOf } from './calendar';
import { formatMinor } from './money';
import { PayRunStatus } from './pay-run';

/** Pay is owed for the month before it as a rule, at times in advance, and at the end of a year for all of it. */
export const MOST_MONTHS_AHEAD = 3;
const MOST_MONTHS_BEHIND = 11;

/** The pay of two months is rarely executed so few days apart: the same rows are rather those of one. */
export const DAYS_NEARBY = 14;

/**
 * What is held, what it means and what a person can do. The codes are stable. RUN_ABOVE_LIMIT, ROWS_OF_ANOTHER_RUN,
 * RUN_MAY_BE_FORGOTTEN and HASH_KEY_CHANGED keep back a whole run or, once that was released, the rows that join it later,
 * PERIOD_FAR_FROM_DATE a whole run; the others keep back one row.
 */
export const HOLD_CODES = {
  EMPLOYEE_TWICE: {
    meaning: 'The employee is in this file already.',
    remedy: 'Leave the row out, or release it if the employee is to be paid by both.',
  },
  IBAN_UNDER_TWO_NAMES: {
    meaning: 'The account is in this file already under another name.',
    remedy: 'Compare both with the payroll; release the row if the account belongs to both.',
  },
  IBAN_AND_AMOUNT_TWICE: {
    meaning:
      'The same amount goes to the same account already, by this file or another run of the period, or of about the same day.',
    remedy: 'Leave the row out, or release it if both are owed.',
  },
  EMPLOYEE_ID_ALIKE: {
    meaning:
      'The account, or somebody of the same name, is paid already under an employee id that differs from this one in case, spaces or leading zeros only.',
    remedy:
      'Correct the id where both are one person, as where a spreadsheet took its zeros away; release the row if both are owed.',
  },
  EMPLOYEE_ALREADY_PAID: {
    meaning:
      'When the row came, another pay run of this period and kind of pay paid the employee, or was to.',
    remedy: 'Leave the row out, or release it if a further payment is owed.',
  },
  EMPLOYEE_MAY_BE_PAID: {
    meaning:
      'A run of this period and kind of pay may have paid the employee: a restored database had forgotten that, or the run was in it and is cancelled.',
    remedy:
      "Ask the bank what the run's instructions paid. Leave the row out, or release it if nothing was paid.",
  },
  EMPLOYEE_PAY_RETURNED: {
    meaning:
      'The employee was paid by another pay run of this period and kind of pay, and the payment came back.',
    remedy: 'Ask the employee where to pay it; release the row if it pays what came back, or leave it out.',
  },
  PAYMENT_ABOVE_LIMIT: {
    meaning: 'The amount is above the most that the employer lets a payment be.',
    remedy: 'Look for a misplaced decimal sign; release the row if the amount is right.',
  },
  PAY_ABOVE_HISTORY: {
    meaning:
      'With the row, the pay of the employee for the period is further above what the last ones were than the employer lets it be.',
    remedy: 'Compare it with the payroll; release the row if the amount is right.',
  },
  RUN_ABOVE_LIMIT: {
    meaning: 'The rows add up to more than the employer lets a run be.',
    remedy:
      'Leave out what is wrong, or cancel the run and upload the right file; release it if the total is right.',
  },
  ROWS_OF_ANOTHER_RUN: {
    meaning: `Most rows pay the same amounts to the same accounts as other runs of the period, or runs executed at most ${DAYS_NEARBY} days before or after.`,
    remedy: 'Cancel the run if it was uploaded by mistake; release it if both are owed.',
  },
  PERIOD_FAR_FROM_DATE: {
    meaning: `The period is more than ${MOST_MONTHS_AHEAD} months after the month of the execution date, or more than ${MOST_MONTHS_BEHIND} before it.`,
    remedy:
      'Compare the period with the payroll, since who was paid already is only looked for in the same period. Correct the date by an amendment, or cancel the run and upload the file for the right period; release it if both are right.',
  },
  RUN_MAY_BE_FORGOTTEN: {
    meaning:
      'The database was restored, and may have forgotten a run that the bank executed: this may be the same pay once more.',
    remedy:
      'Ask the bank what it executed since the time of the backup. Cancel the run if it was paid by that, leave out those who were, or release it if nobody was.',
  },
  HASH_KEY_CHANGED: {
    meaning:
      'The service has another PAYRUN_HASH_KEY than before: whose account is paid already, under another employee id or as another kind of pay, is not found.',
    remedy:
      'Cancel the run, give the service the key that belongs to the database, and upload the file again; where that is lost, release it after a comparison by hand.',
  },
} as const;

export type HoldCode = keyof typeof HOLD_CODES;

/** What is left to do about a payment of which two ends were shown: nothing is ever made in its stead. */
export const AS_ANOTHER_KIND =
  'If the bank writes that it was not and never will be paid, and nothing else pays the employee, upload the row as another kind of pay.';

/** Why a row that would pay in its place is left out for good. */
export const NOTHING_IN_ITS_PLACE = `nothing of this period and kind of pay pays in its place. ${AS_ANOTHER_KIND}`;

/**
 * What is known of an employee whom no other run pays for certain any more. Only of PAID_BY_NOBODY may the held row be
 * released as it is: what an ended run did not pay only its replacement pays, and the others may be paid.
 */
export type Overtaken = 'PAID_BY_NOBODY' | 'UNPAID_BY_AN_ENDED_RUN' | 'MAY_BE_PAID' | 'SHOWN_WITH_TWO_ENDS';

const WORDS_OF_OVERTAKEN: Readonly<Record<Overtaken, { message: string; remedy: string }>> = {
  PAID_BY_NOBODY: {
    message: 'No run pays the employee.',
    remedy: 'Release the row if this run is to pay the employee; left out, nobody does.',
  },
  UNPAID_BY_AN_ENDED_RUN: {
    message: 'No run pays the employee.',
    remedy:
      'Leave the row out, and make a successor of the run that did not pay the employee, or upload the row as a supplement.',
  },
  MAY_BE_PAID: {
    message: 'The employee may have been paid by a submit that is not in the record.',
    remedy: HOLD_CODES.EMPLOYEE_MAY_BE_PAID.remedy,
  },
  SHOWN_WITH_TWO_ENDS: {
    message: 'The bank has shown two ends of what was to pay the employee, who may be paid.',
    remedy: `Leave the row out for good: ${NOTHING_IN_ITS_PLACE}`,
  },
};

/** What was found, besides the code: lines count from 1, amounts are in minor units, absent is null. */
export interface HoldFinding {
  code: HoldCode;
  besideLine: number | null;
  /** The run beside which it was found, as it is shown; null in the same file. */
  besideRun: string | null;
  /** The further runs beside which it was found, as they are shown. */
  alsoBesideRuns: readonly string[];
  /** The state of that run now. */
  besideStatus: PayRunStatus | null;
  /** Of an open EMPLOYEE_ALREADY_PAID, how what was found is over; null while it is not. */
  overtaken: Overtaken | null;
  boundMinor: bigint | null;
  sameRows: number | null;
}

/** For the person who decides: what was found, and what became of the run beside which it was. */
export function describeHold(finding: HoldFinding): string {
  const { code, besideRun, alsoBesideRuns, besideStatus, overtaken } = finding;
  const now = besideRun === null || besideStatus === null ? '' : ` That run is ${besideStatus} now.`;
  const alike = code === 'ROWS_OF_ANOTHER_RUN' ? 'Some are in' : 'The account gets that amount from';
  const also = alsoBesideRuns.length === 0 ? '' : ` ${alike} ${alsoBesideRuns.join(', ')}, too.`;
  const over = overtaken === null ? '' : ` ${WORDS_OF_OVERTAKEN[overtaken].message}`;
  return `${describeFound(finding)}${now}${also}${over}`;
}

/** What the person who decides can do, as things are now. */
export function remedyOf({ code, overtaken }: Pick<HoldFinding, 'code' | 'overtaken'>): string {
  return overtaken === null ? HOLD_CODES[code].remedy : WORDS_OF_OVERTAKEN[overtaken].remedy;
}

function describeFound({ code, besideLine, besideRun, boundMinor, sameRows }: HoldFinding): string {
  const bound = formatMinor(boundMinor ?? 0n);
  switch (code) {
    case 'EMPLOYEE_TWICE':
      return `The employee is already in line ${besideLine}.`;
    case 'IBAN_UNDER_TWO_NAMES':
      return `The account is in line ${besideLine} under another name.`;
    case 'IBAN_AND_AMOUNT_TWICE':
      return `Line ${besideLine}${besideRun === null ? '' : ` of ${besideRun}`} pays the same amount to the same account.`;
    case 'EMPLOYEE_ID_ALIKE':
      return `Line ${besideLine}${besideRun === null ? '' : ` of ${besideRun}`} pays the same account or name under an employee id that is almost this one.`;
    case 'EMPLOYEE_ALREADY_PAID':
      return `The employee was found in line ${besideLine} of ${besideRun}.`;
    case 'EMPLOYEE_MAY_BE_PAID':
      if (besideLine === null)
        return `What ${besideRun} did not pay may have been paid by a run that a restored database has forgotten.`;
      return `The employee may have been paid by line ${besideLine} of ${besideRun}, by a submit that is not in the record.`;
    case 'EMPLOYEE_PAY_RETURNED':
      return `What line ${besideLine} of ${besideRun} paid the employee came back.`;
    case 'PAYMENT_ABOVE_LIMIT':
      return `A payment of the employer is at most ${bound}.`;
    case 'PAY_ABOVE_HISTORY':
      return `After what the employee was last paid at most ${bound} is expected for the period, in all rows and runs.`;
    case 'RUN_ABOVE_LIMIT':
      return `A run of the employer is at most ${bound}.`;
    case 'ROWS_OF_ANOTHER_RUN':
      return `Of the rows, ${sameRows} are in other runs of the period or of about the same day already, as in ${besideRun}.`;
    case 'PERIOD_FAR_FROM_DATE':
      return HOLD_CODES[code].meaning;
    case 'RUN_MAY_BE_FORGOTTEN':
      return 'The rows may have been paid by a run that a restored database has forgotten.';
    case 'HASH_KEY_CHANGED':
      return 'What the file was compared with was hashed under another key.';
  }
}

/** Whether a run pays for a month so far from its execution date that the one or the other may be a slip. */
export function isFarFromDate(period: Period, executionDate: IsoDate): boolean {
  const months = monthsBetween(periodOf(executionDate), period);
  return months > MOST_MONTHS_AHEAD || -months > MOST_MONTHS_BEHIND;
}

/** Whether a month is farther from an execution date than from another, or on the other side of it. */
export function isFarther(period: Period, executionDate: IsoDate, than: IsoDate): boolean {
  const months = monthsBetween(periodOf(executionDate), period);
  const before = monthsBetween(periodOf(than), period);
  return Math.abs(months) > Math.abs(before) || Math.sign(months) !== Math.sign(before);
}

/** How a payment whose last hold was released joins its run; REFUSED: only another upload can pay it. */
export type Joining = 'AS_IT_IS' | 'BY_RELEASE' | 'REFUSED';

/** The codes whose release says that the employee is to be paid once more. */
export const SECOND_PAY_CODES: readonly HoldCode[] = [
  'EMPLOYEE_TWICE',
  'EMPLOYEE_ALREADY_PAID',
  'EMPLOYEE_MAY_BE_PAID',
  'EMPLOYEE_PAY_RETURNED',
];

/** The codes that name the run by which the employee is, was or may have been paid. */
export const PAID_BY_ANOTHER_RUN: readonly HoldCode[] = [
  'EMPLOYEE_ALREADY_PAID',
  'EMPLOYEE_MAY_BE_PAID',
  'EMPLOYEE_PAY_RETURNED',
];

/**
 * The one rule by which a held payment becomes payable: nobody is paid twice for a period and kind of pay unless a
 * person released exactly that, whatever else was released and whatever was stored while the payment was held.
 */
export function joiningOf(held: {
  /** Whether another payment of the same employee, period and kind of pay is live, or may have been sent all the same. */
  paid: boolean;
  /**
   * Whether the upload took a release for it that stands, or it was in its run as the first pay before an amendment held it
   * again; and no live payment has taken that place since.
   */
  hasPlace: boolean;
  /** Whether a hold of `SECOND_PAY_CODES` was released, of it or of a row that was held beside it. */
  secondPayReleased: boolean;
}): Joining {
  if (!held.paid || held.hasPlace) return 'AS_IT_IS';
  return held.secondPayReleased ? 'BY_RELEASE' : 'REFUSED';
}
