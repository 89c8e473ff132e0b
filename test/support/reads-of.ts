import type { BankGateway } from '../../src/bank/gateway';
import { Clock } from '../../src/config/clock';
import type { BankLists } from '../../src/database/bank-lists';
import { BankReads } from '../../src/employer/bank-reads';
import { PaymentsAlone } from '../../src/employer/payments-alone';

/** What reads of a bank find, with a gateway of the test; the sizes of its lists are not kept. */
export function readsOf(gateway: Partial<Record<keyof BankGateway, unknown>>): BankReads {
  const bank = gateway as unknown as BankGateway;
  const nothing = () => Promise.resolve();
  const lists = { remember: nothing, rememberLacking: nothing } as unknown as BankLists;
  return new BankReads(bank, new PaymentsAlone(bank), lists, new Clock());
}
