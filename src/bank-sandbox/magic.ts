/** What becomes of a payment after its instruction is submitted. */
export type Outcome =
  | 'settles'
  | 'notProcessable'
  | 'initiationNotValid'
  | 'initiationControlFails'
  | 'submissionControlFails'
  | 'processingControlFails'
  | 'routingFails'
  | 'refusedAfterExchange'
  | 'payeeAccountClosed'
  | 'exchangeError'
  | 'settlementFails'
  | 'fails'
  | 'rejected'
  | 'cancelled'
  | 'abandoned'
  | 'returnedTwoDaysLater'
  | 'comesInTwoDaysLater'
  | 'neverSettles'
  | 'undocumentedStatus';

export interface MagicCreditor {
  iban: string;
  effect: 'refusedAtAdd' | 'submitRefused' | Outcome;
  meaning: string;
}

/** Creditor accounts that make the bank say no. Every other valid IBAN is paid. */
export const MAGIC_CREDITORS: readonly MagicCreditor[] = [
  { iban: 'DE92999911110000000001', effect: 'refusedAtAdd', meaning: 'the add answers 422' },
  {
    iban: 'DE65999911110000000002',
    effect: 'notProcessable',
    meaning: 'NOTPROCESSABLE after the submit, ends in SUB_NOT_IS_VALID; the others go on',
  },
  { iban: 'DE38999911110000000003', effect: 'refusedAfterExchange', meaning: 'EXCHANGED, then EXT_REFUSED' },
  {
    iban: 'DE11999911110000000004',
    effect: 'returnedTwoDaysLater',
    meaning: 'SETTLED, two days later RETURNED and the money booked back',
  },
  { iban: 'DE81999911110000000005', effect: 'neverSettles', meaning: 'stays at EXCHANGED for ever' },
  { iban: 'DE54999911110000000006', effect: 'routingFails', meaning: 'ends in PRO_ROUTING_FAILED' },
  { iban: 'DE27999911110000000007', effect: 'settlementFails', meaning: 'ends in PRO_SETTLEMENT_FAILED' },
  {
    iban: 'DE97999911110000000008',
    effect: 'undocumentedStatus',
    meaning: 'stays at PRO_MANUAL_REVIEW, a status no document names',
  },
  {
    iban: 'DE70999911110000000009',
    effect: 'submitRefused',
    meaning: 'the submit of its instruction answers 422',
  },
  { iban: 'DE43999911110000000010', effect: 'fails', meaning: 'ends in FAILED' },
  { iban: 'DE16999911110000000011', effect: 'rejected', meaning: 'ends in REJECTED' },
  { iban: 'DE86999911110000000012', effect: 'cancelled', meaning: 'submitted, then ends in CANCELLED' },
  {
    iban: 'DE59999911110000000013',
    effect: 'initiationControlFails',
    meaning: 'the add answers 201 at INI_INT_CTRL_FAILED, where it ends; NOTPROCESSABLE after the submit',
  },
  {
    iban: 'DE32999911110000000014',
    effect: 'initiationNotValid',
    meaning: 'the add answers 201 at INI_NOT_IS_VALID, where it ends; NOTPROCESSABLE after the submit',
  },
  {
    iban: 'DE05999911110000000015',
    effect: 'submissionControlFails',
    meaning: 'NOTPROCESSABLE after the submit, ends in SUB_INT_CTRL_FAILED',
  },
  {
    iban: 'DE75999911110000000016',
    effect: 'processingControlFails',
    meaning: 'ends in PRO_INT_CTRL_FAILED',
  },
  {
    iban: 'DE48999911110000000017',
    effect: 'exchangeError',
    meaning: 'stays at EXCHANGE_ERROR, the money still held: nobody knows whether it left',
  },
  { iban: 'DE21999911110000000018', effect: 'abandoned', meaning: 'submitted, then ends in ABANDONED' },
  {
    iban: 'DE91999911110000000019',
    effect: 'payeeAccountClosed',
    meaning: "EXCHANGED, then EXT_REFUSED, its label says that the payee's account is closed",
  },
  {
    iban: 'DE64999911110000000020',
    effect: 'comesInTwoDaysLater',
    meaning:
      'SETTLED, and stays so; two days later the money comes in, as an INWARD payment with its message id',
  },
];

const BY_IBAN = new Map(MAGIC_CREDITORS.map((creditor) => [creditor.iban, creditor.effect]));

/** The scripted effect of an IBAN (electronic form), or undefined when it is an ordinary payee. */
export function magicEffect(iban: string): MagicCreditor['effect'] | undefined {
  return BY_IBAN.get(iban);
}
