import axios from 'axios';
import { PATHS } from '../../src/bank/types';
import { DEFAULT_TOKEN, type Sandbox } from '../../src/bank-sandbox/sandbox';
import { DEFAULT_SEED } from '../../src/bank-sandbox/seed';
import { previousBankingDay } from '../../src/domain/business-day';
import { DAY_MS } from '../../src/domain/durations';
import { messageIdOf } from '../../src/pay-run/message-id';
import { germanIban } from './pay-rows';

/** Longer ago than anything that is watched. */
const DAYS_AGO = 400;

/** What the bank has from then on, for tests that count only what came since. */
export interface PaidBefore {
  iban: string;
  bankInstructionIds: number[];
  calls: Record<string, number>;
}

/** When a bank is to be started at which something was paid before: at noon of a day on which any bank pays. */
export function longAgo(): number {
  const date = previousBankingDay(new Date(Date.now() - DAYS_AGO * DAY_MS).toISOString().slice(0, 10));
  return Date.parse(`${date}T12:00:00Z`);
}

/**
 * A payment that bears a message id of this service has settled long ago, and another was never submitted; the bank shows both:
 * so its list is seen to show what has settled, and what is not submitted. It takes the bank on to this moment.
 */
export async function payBefore({ url }: Sandbox): Promise<PaidBefore> {
  const headers = { authorization: `Bearer ${DEFAULT_TOKEN}` };
  const post = async (path: string, body?: unknown) =>
    (await axios.post(`${url}${path}`, body, { headers })).data;
  const iban = germanIban(888_888);
  const debtor = DEFAULT_SEED.users[1]!;
  const { date } = (await axios.get(`${url}/sandbox/clock`)).data;
  const build = async (n: number): Promise<number> => {
    const { id } = await post(PATHS.initiate(), {
      customerInstructionInformation: {
        paymentInstrument: 'CreditTransfer',
        batchBooking: true,
        requestedExecutionDate: date,
      },
      customerInstructionOrderingParties: {
        debtor: { name: debtor.holderName, accountId: { type: 'IBAN', value: debtor.account!.iban } },
      },
    });
    const messageId = messageIdOf(`01700000-0000-7000-8000-00000000000${n}`, 1);
    await post(PATHS.addPaymentTransaction(String(id)), {
      paymentTransactionInformation: { paymentTransactionIdentification: { messageId } },
      paymentTransactionAmountInformation: { instructedAmount: { value: '12345', currency: 'EUR' } },
      paymentTransactionParties: {
        creditor: { name: 'Nobody', accountId: { type: 'IBAN', value: iban } },
      },
    });
    return id;
  };
  const [id, unsubmitted] = [await build(1), await build(2)];
  await post(PATHS.submit(String(id)));
  await post(`/sandbox/instructions/${id}/release`).catch(() => undefined);
  await post('/sandbox/clock', { now: new Date().toISOString() });
  return {
    iban,
    bankInstructionIds: [id, unsubmitted],
    calls: (await axios.get(`${url}/sandbox/calls`)).data,
  };
}
