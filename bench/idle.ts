import { setTimeout as sleep } from 'node:timers/promises';
import { onStage } from '../src/cli/stage';
import { PayOffice } from './pay-office';

const DEFAULT_SECONDS = 30;
/** What a start does besides is over by then, and counted by the server. */
const SETTLING_MS = 12_000;

/**
 * What a service costs that has nothing to do: transactions of its database, and CPU of both. The arguments are the
 * seconds that are measured, and TICK_MS where it is not the default.
 */
async function main(): Promise<void> {
  const [seconds = DEFAULT_SECONDS, tickMs] = process.argv.slice(2).map(Number);
  await onStage(async (stage) => {
    const office = await PayOffice.open(stage, 0, {
      TICK_MS: tickMs === undefined ? undefined : String(tickMs),
    });
    await sleep(SETTLING_MS);
    const before = await read(office);
    await sleep(seconds * 1_000);
    const after = await read(office);
    const perSecond = (figure: keyof typeof before) => (after[figure] - before[figure]) / seconds;
    process.stdout.write(
      `transactions/s  CPU of the service  of the database\n` +
        `${perSecond('transactions').toFixed(1).padStart(14)}  ${milliseconds(perSecond('serviceUs')).padStart(18)}` +
        `  ${milliseconds(perSecond('databaseUs')).padStart(15)}\n`,
    );
  });
}

async function read(office: PayOffice): Promise<Record<'transactions' | 'serviceUs' | 'databaseUs', number>> {
  const { rows } = await office.db.query<{ transactions: string }>(
    `SELECT xact_commit AS transactions FROM pg_stat_database WHERE datname = current_database()`,
  );
  const { serviceUs, databaseUs } = await office.meters();
  return { transactions: Number(rows[0]?.transactions), serviceUs, databaseUs };
}

function milliseconds(us: number): string {
  return `${(us / 1_000).toFixed(1)} ms/s`;
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
