import type { Payroll } from './payroll';

/** What people decide of a run of which nothing is submitted. */
export const RUN_DECISIONS = {
  'is cancelled': async (payroll: Payroll, id: string) => {
    const path = payroll.path(`/pay-runs/${id}/cancellation`);
    await payroll.as('preparer').post(path, { reason: 'paid in the portal' });
    await payroll.until(id, ['CANCELLED'], 20_000);
  },
  'is amended': async (payroll: Payroll, id: string) => {
    const path = payroll.path(`/pay-runs/${id}`);
    const [one] = (await payroll.as('approver').get(`${path}/payments`)).data.items;
    const amendment = { excludePaymentIds: [one.id], reason: 'has left' };
    await payroll.as('preparer').post(`${path}/amendments`, amendment);
    await payroll.until(id, ['READY'], 20_000);
  },
};

export const RUN_DECISION_NAMES = Object.keys(RUN_DECISIONS) as (keyof typeof RUN_DECISIONS)[];
