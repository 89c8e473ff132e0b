import type { AmountCodec } from '../amounts';
import type { Requests } from '../http/requests';
import type { Views } from '../http/views';
import { notFound } from '../refusal';
import type { Bank } from '../state/bank';
import type { Variants } from '../variants';

/** What every section of routes works with. */
export interface BankRoutes {
  bank: Bank;
  requests: Requests;
  views: Views;
  codec: AmountCodec;
  variants: Variants;
}

/** The moment whose state a read shows. */
export function asOfMs({ bank, variants }: BankRoutes): number {
  return bank.clock.now() - variants.listingLagMs;
}

/** An integer id of a path. Throws 404 for anything else: there is no such thing. */
export function wholeNumberParam(text: string | undefined): number {
  if (text === undefined || !/^\d{1,15}$/.test(text)) throw notFound('resource');
  return Number(text);
}
