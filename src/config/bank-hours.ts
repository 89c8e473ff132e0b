import type { BankHours } from '../domain/business-day';
import type { Config } from './env';

/** The bank's hours from the configuration. */
export function bankHours(
  config: Pick<Config, 'BANK_CUT_OFF' | 'BANK_TIME_ZONE' | 'BANK_CLOSED_DAYS'>,
): Required<BankHours> {
  return {
    cutOff: config.BANK_CUT_OFF,
    timeZone: config.BANK_TIME_ZONE,
    closedDays: new Set(config.BANK_CLOSED_DAYS),
  };
}
