import { AS_ANOTHER_KIND } from '../domain/hold';

/** What a person may do about an attention; each needs two people and a reason. */
export type AttentionAction =
  | 'ACKNOWLEDGE'
  | 'TRY_AGAIN'
  | 'EXECUTED'
  | 'NOT_EXECUTED'
  | 'PAID'
  | 'NOT_PAID'
  | 'EXCLUDE_PAYMENT'
  | 'GO_ON'
  | 'RESUME';

interface Words {
  /** Where nothing more precise is known when it is raised. */
  certain: string;
  /** To be read out to the bank. `{ref}` is the bank's id of the instruction, or of what else it asks about. */
  askBank: string;
  actions: readonly AttentionAction[];
}

/** Of a run that holds the refused payment alone. */
export const REFUSED_ALONE =
  'Nobody is paid by this run before it is decided: it holds this payment alone. If it is not to be tried again, cancel the run.';

/** What people decide of adds that are forbidden, where nothing shows whether the bank refuses our access or the payments. */
const UNTIL_RESUMED =
  'Nothing more is sent for this employer until two people resume it on this attention: what of these payments is forbidden still is then asked about payment by payment, unless many others are forbidden too.';

/** Of adds that are forbidden to the customer instructions that are named. */
export function forbiddenAdds(instructions: string): Pick<Words, 'certain' | 'askBank'> {
  return {
    certain: `Whether it refuses our access or these payments is not known; none of them is added. ${UNTIL_RESUMED}`,
    askBank: `May our access token add payments to instructions of account {ref}? If it may, why are payments forbidden in customer instruction ${instructions}?`,
  };
}

/** As `forbiddenAdds`, where our access is refused to others for certain. */
export function forbiddenBesides(instructions: string): Pick<Words, 'certain' | 'askBank'> {
  return {
    certain: `The bank refuses our access; whether it forbids payments for that, or by themselves, is not known. None of those is added. ${UNTIL_RESUMED}`,
    askBank: `${ATTENTION_WORDS.CREDENTIALS.askBank} ${forbiddenAdds(instructions).askBank}`,
  };
}

/** Of an answer to an add that was not what was sent. */
export const ECHO_IN_BUILDING =
  'Nothing of the instruction is submitted before a read shows every payment as it was sent; where one shows another, it is abandoned and built again.';

/** Of an instruction that the bank ended, or does not show any more, before its submit. */
export const WHY_ENDED =
  'Why did you end customer instruction {ref}, or do not show it any more? We have not submitted it.';

/** Of an instruction of which nobody says whether somebody else submitted it, and of what a restore may have made the record forget. */
export const WAS_IT_SUBMITTED =
  'Was customer instruction {ref} submitted by anybody? If it was, which of its payments are executed? If not, please cancel them.';

/** Of an instruction with payments that bear no mark of ours. */
export const WHICH_IS_WHICH = 'Which messageId does each payment of customer instruction {ref} bear?';

/** Where the bank knows nothing of what is asked. */
export const NOTHING_TO_ASK = 'Nothing: this is decided here.';

/** Of an instruction that the bank did not open, be it that it opened others of the run. */
export const NOT_OPENED =
  'No instruction with these payments is known at the bank, and nothing of this run is submitted.';

/** What is refused where others of the run are submitted: it can be tried again, but not amended any more. */
export const UNPAID_IN_MID_RUN =
  'Nothing of this instruction is submitted; others of the run are, or may be, and are followed. What is not built by the cut-off becomes VOID and can be paid by a successor.';

/** Of people whose pay came back. */
export function notPaid(who: 'These people' | 'The others'): string {
  return `${who} are not paid: what they were paid is recorded as returned. Nothing is stopped, and nothing is paid again by itself. Ask each of them where to pay. Who names the same account is paid by a successor of the run, with paymentIds and a reason: it pays the IBAN that it came back from. Who names another is paid by a row with that IBAN, uploaded as its supplement, where an approver releases it.`;
}

/** Of a payment of which two ends were shown. */
export const NEVER_REPLACED = `The payment can never be replaced by another. ${AS_ANOTHER_KIND}`;

/** Of an instruction of which the bank is asked whether it is certain that nothing of it is executed. */
export const IF_EXECUTED =
  'If the bank says that it was or will be executed, leave this open: it closes once the bank shows that, or two people say PAID in the UNKNOWN_STATUS that asks two banking days after the date.';

/** Every kind of attention, with the words and the actions that belong to it. */
export const ATTENTION_WORDS = {
  SUBMIT_UNKNOWN: {
    certain:
      'The submit was sent at most once and is never sent again. No other instruction pays these people.',
    askBank:
      'Did you take the submit of customer instruction {ref}, executed yet or not? If you did, leave it as it is. If you did not, cancel it for good, and confirm in writing that nothing of it is executed, now or later.',
    actions: ['EXECUTED', 'NOT_EXECUTED'],
  },
  SUBMIT_REFUSED: {
    certain: 'The bank answered the submit with a refusal. It was sent once and is not sent again.',
    askBank:
      'Why was the submit of customer instruction {ref} refused? Please cancel it for good, and confirm in writing that nothing of it is executed, now or later.',
    actions: ['EXECUTED', 'NOT_EXECUTED'],
  },
  UNRECORDED_SUBMIT: {
    certain:
      'The bank shows a submit that is not in the record. Nothing more is sent for the same rows, and no other run pays them.',
    askBank:
      'Who submitted customer instruction {ref}, and which payments of it are executed? Please confirm it in writing.',
    actions: ['EXECUTED'],
  },
  TOTAL_MISMATCH_AFTER_SUBMIT: {
    certain:
      'The instruction is submitted. Its count or sum at the bank is not the approved one. All submits are stopped.',
    askBank:
      'Which payments does customer instruction {ref} contain? Please stop those that are not on our list.',
    actions: ['RESUME'],
  },
  TOTALS_UNSEEN: {
    certain:
      'Every payment that was sent is settled or has failed, once each. The bank never showed the count and sum it executed, nor which instruction its payments belong to: one it executed on top would not be seen.',
    askBank: 'How many payments, and what sum, did customer instruction {ref} execute?',
    actions: ['ACKNOWLEDGE'],
  },
  ECHO_MISMATCH: {
    certain:
      'The instruction was abandoned before any submit: none of it is paid. It is built again, unless its run has ended or it was built too often.',
    askBank:
      'Why does the bank show another amount, currency, IBAN or message id than it was sent in {ref}, or another payment id than it answered?',
    actions: ['RESUME', 'ACKNOWLEDGE'],
  },
  NAME_DIFFERS: {
    certain: 'Amounts and IBANs are as approved where the bank shows them, and nothing is held back.',
    askBank: 'Why does customer instruction {ref} show other names than were sent? Is it paid by IBAN alone?',
    actions: ['ACKNOWLEDGE'],
  },
  CHARGE_BEARER_DIFFERS: {
    certain:
      'They were sent so that each side bears the charges of its own bank. Amounts and IBANs are as approved where the bank shows them, and nothing is held back; who was paid may have received less, or our account may be charged more.',
    askBank:
      'Why does customer instruction {ref} show another charge bearer than SLEV? Does every payee receive the whole amount, and what do you charge to our account?',
    actions: ['ACKNOWLEDGE'],
  },
  DATE_DIFFERS: {
    certain:
      'It was submitted once, with the date that was approved, and is never sent again. Nothing is held back.',
    askBank:
      'Why does customer instruction {ref} show another date than the execution date it was sent with? On which day is our account debited, and on which is each payee paid?',
    actions: ['ACKNOWLEDGE'],
  },
  ROW_REFUSED_BY_BANK: {
    certain:
      'Nobody of this run is paid before it is decided. The refused payment is in no submitted instruction.',
    askBank:
      'Why is this payment refused in customer instruction {ref}? The answer of the bank is kept with it.',
    actions: ['EXCLUDE_PAYMENT', 'TRY_AGAIN'],
  },
  ROW_REFUSED_IN_MID_RUN: {
    certain: UNPAID_IN_MID_RUN,
    askBank:
      'Why is this payment refused in customer instruction {ref}? The answer of the bank is kept with it.',
    actions: ['TRY_AGAIN'],
  },
  INITIATE_REFUSED: {
    certain: NOT_OPENED,
    askBank: 'Why is the initiation of a credit-transfer instruction refused for account {ref}?',
    actions: ['TRY_AGAIN'],
  },
  REBUILD_LIMIT: {
    certain: 'Every attempt was abandoned before any submit: none of it is paid.',
    askBank:
      'Why do additions to an instruction, last to {ref}, stay unanswered or differ from what was sent?',
    actions: ['TRY_AGAIN'],
  },
  ROW_UNSEEN: {
    certain: 'Not being listed proves nothing: the payment may exist all the same, so it is not paid again.',
    askBank: 'What became of the payments of customer instruction {ref} that are not listed or not finished?',
    actions: ['TRY_AGAIN', 'ACKNOWLEDGE'],
  },
  REPLACED_UNSEEN: {
    certain:
      'Nothing that waits for it is submitted: what is not shown as it ended may have been paid after all. It goes on by itself once the bank shows how each of these payments ended, or two people have its word. If the bank says that some were paid, take these out by an amendment, or cancel the run; one that is being submitted ends at its cut-off.',
    askBank:
      'Your interface does not show how all payments of customer instruction {ref} ended. Is it certain that those it lacks, or shows as before their end, were not paid, or came back whole, and never will be paid? Please confirm that in writing.',
    actions: ['NOT_PAID', 'ACKNOWLEDGE'],
  },
  FOREIGN_RECORD: {
    certain: 'We never sent this payment. It is in none of our approved rows.',
    askBank: 'Where does the additional payment in customer instruction {ref} come from? Please stop it.',
    actions: ['RESUME'],
  },
  ENTRY_OF_THE_BANK: {
    certain:
      'It is none of our payments, and by its type it pays nobody: a fee of the bank, or a refund. Nothing is held back.',
    askBank:
      'What are the fees or refunds in customer instruction {ref}, and why are they listed among its payments?',
    actions: ['ACKNOWLEDGE'],
  },
  CONTRADICTION: {
    certain: `The first final status is kept, and not both are right about whether it was paid. ${NEVER_REPLACED}`,
    askBank: 'Which of the two final statuses of this payment in {ref} is right, and where is the money?',
    actions: ['ACKNOWLEDGE'],
  },
  POSSIBLE_RETURN: {
    certain:
      'The payments stay in the record as they are: nothing is moved, and nobody is paid again for it. If the money is a return, who did not get it is paid through a release.',
    askBank:
      'Is the money that came in to our account a return of payments of customer instruction {ref}? Of which, and why?',
    actions: ['ACKNOWLEDGE'],
  },
  PAYMENT_RETURNED: {
    certain: `${notPaid('These people')} It is told anew as they are replaced by runs that are submitted, and closes by itself once all are.`,
    askBank: 'Why did payments of customer instruction {ref} come back, and is their money in our account?',
    actions: ['ACKNOWLEDGE'],
  },
  REPLACED_PAYMENT_MOVED: {
    certain:
      'The run is stopped: what is not submitted is not sent. If they were paid, take them out by an amendment and then RESUME, or cancel the run; one that is being submitted ends at its cut-off. RESUME alone asks again while the bank shows it.',
    askBank:
      'Was anything of customer instruction {ref} paid after all? We were about to pay its payments again.',
    actions: ['RESUME'],
  },
  ENDED_BY_BANK: {
    certain:
      'It was submitted once and is never sent again. The bank ended it, and shows its payments as they were before it took them. No other instruction pays these people. ' +
      IF_EXECUTED,
    askBank:
      'Is it certain that nothing of customer instruction {ref} is executed, now or later? Please confirm that in writing.',
    actions: ['NOT_EXECUTED', 'ACKNOWLEDGE'],
  },
  UNKNOWN_STATUS: {
    certain:
      'The status is stored as received and changed nothing. Nobody who shows it is paid again meanwhile.',
    askBank:
      'What does this status mean, and is it final? Of each payment of {ref} that shows it: was it paid, or is it certain that it never will be? Please confirm that in writing.',
    actions: ['PAID', 'NOT_PAID', 'ACKNOWLEDGE'],
  },
  BANK_ACTION_REQUIRED: {
    certain: 'The bank waits for a person to act in its portal. Nothing that waits so is paid until then.',
    askBank: 'Which approval or strong authentication does {ref} wait for?',
    actions: ['ACKNOWLEDGE'],
  },
  STALE_DATE: {
    certain:
      'We did not submit this instruction, and it is never submitted any more. The bank is read again before a successor pays its rows. It closes by itself once another run that pays all of them is submitted.',
    askBank: NOTHING_TO_ASK,
    actions: ['ACKNOWLEDGE'],
  },
  APPROVAL_LAPSED: {
    certain:
      'No submit of this run was sent. It waits for a new approval, and for an amendment where its terms changed.',
    askBank: NOTHING_TO_ASK,
    actions: ['ACKNOWLEDGE'],
  },
  PERIOD_OVERDUE: {
    certain:
      'No run of this month of the schedule is submitted. It closes by itself once a run of this period, kind of pay and account is approved; approve or upload it before the cut-off of its execution date, and after that amend it, or upload it, with a later one.',
    askBank: NOTHING_TO_ASK,
    actions: ['ACKNOWLEDGE'],
  },
  DUE_BUT_STOPPED: {
    certain:
      'Nothing of this run is submitted. It goes on by itself once everything named here is resumed; if that is not before the cut-off of its execution date, its approval lapses.',
    askBank: NOTHING_TO_ASK,
    actions: ['ACKNOWLEDGE'],
  },
  DUE_BUT_WAITING: {
    certain:
      'Nothing of this run is submitted, and nothing is stopped. It goes on by itself once what it waits for is there; if that is not before the cut-off of its execution date, its approval lapses. Before its people are paid in any other way, cancel it.',
    askBank:
      'Since the time named here we get no answer from you that we can use, to the call named here. Is your interface, or its token endpoint, out of order, or our access limited? Until when, and what becomes of payments for this execution date that reach you after the cut-off?',
    actions: ['ACKNOWLEDGE'],
  },
  LOW_BALANCE: {
    certain:
      'Nothing of this run was submitted. Submitted payments of other runs on which the bank shows no hold yet are reserved; where the available balance is lower by them already, they count twice. It goes on by itself once the account is funded, or two people let it go on: then what the bank does not fund ends unpaid, and is reported as such.',
    askBank:
      'Is the available balance you show lower already by payments that are added and not submitted yet, or by submitted payments that are not executed yet? Does it leave out an overdraft that you grant? Will you execute this run?',
    actions: ['GO_ON', 'ACKNOWLEDGE'],
  },
  POSSIBLE_DUPLICATE_PAY: {
    certain:
      'Nothing is submitted that holds one of these payments. Take them out by an amendment, or cancel the run. One that is being submitted ends at its cut-off.',
    askBank: 'Which payments did customer instruction {ref} execute?',
    actions: ['ACKNOWLEDGE'],
  },
  CREDENTIALS: {
    certain:
      "The bank refuses our access. Nothing more is sent for this employer until two people resume it on this attention. Where it refuses one read for good, the operator's probe of the account finds another to follow by; resume after it.",
    askBank: 'Is our access token valid, with the scopes of the interface, for account {ref}?',
    actions: ['RESUME'],
  },
  ACCOUNT_UNUSABLE: {
    certain:
      'Nothing more is submitted from this account. It goes on by itself once the account can be used.',
    askBank: 'Is account {ref} open, and are credit transfers allowed on it?',
    actions: ['ACKNOWLEDGE'],
  },
  UNKNOWN_EVENT: {
    certain: 'The event is stored and changed nothing. What it could concern is read from the bank.',
    askBank: 'What does the event {ref} mean? Its name is not in the interface document.',
    actions: ['ACKNOWLEDGE'],
  },
  CONTRACT_DRIFT: {
    certain:
      'An answer of the bank lacks what its interface document promises. Nothing was concluded from it. It closes by itself once the same is read well.',
    askBank:
      'Did your interface change? Your answer to {ref} lacks what its document promises, or cannot be read. What was missing or unreadable is named here.',
    actions: ['ACKNOWLEDGE'],
  },
  RESTORED: {
    certain:
      'The restored data may have forgotten submits. Every submit of every employer is off until the bank was read and two people resume.',
    askBank:
      'Which customer instructions of ours were submitted since the backup (name its date and time), and which of their payments are executed? Which others, opened through your interface, could still be submitted? Please cancel those, and confirm all of it in writing.',
    actions: ['RESUME'],
  },
  INVARIANT_BREACH: {
    certain: 'Something that must never happen was found. Everything it concerns is stopped.',
    askBank: 'Please list every payment of customer instruction {ref} and its status.',
    actions: ['RESUME'],
  },
} as const satisfies Record<string, Words>;

export type AttentionKind = keyof typeof ATTENTION_WORDS;

/** What is asked about while nothing of a run waits for the answer: what was sent, or let go, is as it is. */
export const HOLDS_NOTHING: readonly AttentionKind[] = [
  'NAME_DIFFERS',
  'CHARGE_BEARER_DIFFERS',
  'DATE_DIFFERS',
  'TOTALS_UNSEEN',
  'ENTRY_OF_THE_BANK',
  'CONTRADICTION',
  'POSSIBLE_RETURN',
  'PAYMENT_RETURNED',
  'STALE_DATE',
  'UNKNOWN_EVENT',
];
