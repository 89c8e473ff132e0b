import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, Config } from '../config/env';
import { Database } from '../database/database';
import { PersonalData } from '../database/personal-data';
import { formatMinor } from '../domain/money';
import { csvLine } from '../http/csv';
import { showId } from '../http/prefixed-id';
import { Problem } from '../http/problem';
import { findRun } from '../pay-run/pay-run.store';
import { ReconciledRow, reconciledRows } from './reconciled-rows';

export type RowFormat = 'csv' | 'ndjson';

/** A million rows of 120 bytes pass within this at 2 Mbit/s; a client slower than that holds a connection too long. */
const EXPORT_TIMEOUT_MS = 600_000;
/** One write to the socket for some hundred rows. */
const CHUNK_CHARACTERS = 65_536;

const HEADER = csvLine([
  'line',
  'employee_id',
  'name',
  'iban',
  'amount',
  'currency',
  'status',
  'bank_payment_id',
  'bank_status',
  'settled_on',
  'returned_at',
  'charges',
  'difference',
  'payment_id',
  'replaces_payment_id',
  'replaced_by_payment_id',
  'decision_id',
  'returned_amount',
]);

/** Streams every row of a run. An export keeps a connection to its end, so only some run at a time. */
@Injectable()
export class RowExport {
  private running = 0;
  private readonly atOnce: number;

  constructor(
    private readonly database: Database,
    private readonly personal: PersonalData,
    @Inject(CONFIG) config: Pick<Config, 'DATABASE_POOL_SIZE'>,
  ) {
    this.atOnce = Math.max(1, Math.floor(config.DATABASE_POOL_SIZE / 4));
  }

  /**
   * Sends the rows, as they and their run are at one moment, to `destination`, which `begin` gives once the run was found.
   * It is ended only when everything went well, and otherwise left for the caller to cut.
   * @throws DomainError PAY_RUN_NOT_FOUND, Problem 503 EXPORTS_BUSY
   */
  async send(employerId: string, payRunId: string, format: RowFormat, begin: () => Writable): Promise<void> {
    if (this.running >= this.atOnce) {
      throw new Problem(503, 'EXPORTS_BUSY', 'Other exports are running; try again in a moment.');
    }
    this.running += 1;
    const sending = this.database.inEmployerAtOnce(employerId, async (tx) => {
      const run = await findRun(tx, payRunId);
      await tx.query(`SET LOCAL statement_timeout = ${EXPORT_TIMEOUT_MS}`);
      const destination = begin();
      await pump(linesOf(reconciledRows(tx, this.personal, run), format), destination);
      return destination;
    });
    const destination = await sending.finally(() => (this.running -= 1));
    destination.end();
  }
}

async function pump(lines: AsyncIterable<string>, destination: Writable): Promise<void> {
  const tooSlow = setTimeout(
    () => destination.destroy(new Error('the export took too long')),
    EXPORT_TIMEOUT_MS,
  );
  try {
    await pipeline(inChunks(lines), destination, { end: false });
  } finally {
    clearTimeout(tooSlow);
  }
}

async function* linesOf(rows: AsyncIterable<ReconciledRow>, format: RowFormat): AsyncGenerator<string> {
  if (format === 'csv') yield HEADER;
  for await (const row of rows) yield format === 'csv' ? csvOf(row) : `${JSON.stringify(jsonOf(row))}\n`;
}

async function* inChunks(lines: AsyncIterable<string>): AsyncGenerator<string> {
  let chunk = '';
  for await (const line of lines) {
    chunk += line;
    if (chunk.length < CHUNK_CHARACTERS) continue;
    yield chunk;
    chunk = '';
  }
  if (chunk !== '') yield chunk;
}

function csvOf(row: ReconciledRow): string {
  return csvLine([
    row.line,
    row.employeeId,
    row.name,
    row.iban,
    row.amountMinor,
    row.currency,
    row.status,
    row.bankPaymentId,
    row.bankStatus,
    row.settledOn,
    row.returnedAt?.toISOString() ?? null,
    row.chargesMinor,
    row.difference ?? null,
    showId('pay', row.paymentId),
    showOptional(row.replacesPaymentId),
    showOptional(row.replacedByPaymentId),
    showOptional(row.decisionId, 'act'),
    row.returnedMinor,
  ]);
}

function jsonOf(row: ReconciledRow): Record<string, string | number | null> {
  return {
    line: row.line,
    paymentId: showId('pay', row.paymentId),
    employeeId: row.employeeId,
    name: row.name,
    iban: row.iban,
    amount: formatMinor(row.amountMinor),
    currency: row.currency,
    status: row.status,
    bankPaymentId: row.bankPaymentId,
    bankStatus: row.bankStatus,
    settledOn: row.settledOn,
    returnedAt: row.returnedAt?.toISOString() ?? null,
    charges: row.chargesMinor === null ? null : formatMinor(row.chargesMinor),
    difference: row.difference ?? null,
    replacesPaymentId: showOptional(row.replacesPaymentId),
    replacedByPaymentId: showOptional(row.replacedByPaymentId),
    decisionId: showOptional(row.decisionId, 'act'),
    returnedAmount: row.returnedMinor === null ? null : formatMinor(row.returnedMinor),
  };
}

function showOptional(id: string | null, prefix: 'pay' | 'act' = 'pay'): string | null {
  return id === null ? null : showId(prefix, id);
}
