import { payFile, payRows } from '../support/pay-rows';
import { Payroll } from '../support/payroll';

describe('a run', () => {
  it('goes on from state to state without waiting for the clock', async () => {
    const payroll = await Payroll.start({
      rowsPerInstruction: 4,
      settings: { TICK_MS: '3600000' },
      // Where the list lags behind, time alone says when to look again.
      sandbox: { variants: { listingLagMs: 0 } },
    });
    try {
      const id = await payroll.paid(payFile(payRows(8)));
      // The one time that this service looks for work by itself.
      await payroll.addReplica();
      await payroll.until(id, ['SUBMITTING', 'FOLLOWING', 'SETTLED'], 20_000);
    } finally {
      await payroll.close();
    }
  });
});
