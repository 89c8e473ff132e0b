import type { BankGateway } from '../../src/bank/gateway';
import { Clock } from '../../src/config/clock';
import type { BankLists } from '../../src/database/bank-lists';
import { BankReads } from '../../src/employer/bank-reads';
import { FaultsInARow } from '../../src/employer/faults-in-a-row';
import { PaymentLists } from '../../src/employer/payment-lists';
import { PaymentsAlone } from '../../src/employer/payments-alone';
import { emptyList } from './empty-list';

/** Faults of reads, of which a few in a row are for good at once unless a test moves the clock. */
export function faultsOf(clock = new Clock(), patienceMs = 0): FaultsInARow {
  return new FaultsInARow(clock, { BANK_PATIENCE_MS: patienceMs });
}

/** What reads of a bank find, with a gateway of the test; the sizes of its lists are not kept, nor what they lack unless said. */
export function readsOf(
  gateway: Partial<Record<keyof BankGateway, unknown>>,
  faults = faultsOf(),
  rememberLacking: BankLists['rememberLacking'] = () => Promise.resolve(),
  clock = new Clock(),
): BankReads {
  if (!('listInstructionMarks' in gateway)) gateway.listInstructionMarks = emptyList;
  const bank = gateway as unknown as BankGateway;
  const remember = () => Promise.resolve();
  const lists = { remember, rememberLacking } as unknown as BankLists;
  const shown = new PaymentLists(bank, lists, clock, faults);
  return new BankReads(bank, new PaymentsAlone(bank, faults), shown, faults);
}
