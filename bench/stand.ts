import { join } from 'node:path';
import { Readable } from 'node:stream';
import { demoBankSettings, demoServiceSettings, DEMO_BANK } from '../src/cli/demo-settings';
import { Portal } from '../src/cli/portal';
import { COMPANY, ensureEmployer, ensureStaff } from '../src/cli/seed';
import { Stage, startBank } from '../src/cli/stage';
import { runMigrations } from '../src/database/migrate';
import { startTemporaryServer, TemporaryServer } from '../src/database/temporary-server';
import { earliestExecutionDate, periodOf } from '../src/domain/business-day';
import type { UploadAnswer } from '../src/pay-file/upload-answer';
import { OwnProcess, startOwnProcess } from './own-process';
import { payFileOf } from './pay-rows';

const SERVICE = join(__dirname, '..', 'src', 'main.js');
/** Nothing is paid here, so the service looks for work no more often than in production. */
const TICK_MS = 1_000;
/** Past the two minutes a statement may take: a slow upload is to be measured, not cut off. */
const UPLOAD_TIMEOUT_MS = 280_000;
const NOT_CUT_OFF_MS = 10 * 60_000;
/** More than a month has, so that the banking days after weekends fall into different months. */
const MS_PER_MONTH = 33 * 86_400_000;

/** One upload as its sender sees it. */
export interface TimedUpload {
  seconds: number;
  run: UploadAnswer;
}

/** Any answer as its reader sees it. */
export interface TimedAnswer {
  seconds: number;
  status: number;
  body: string;
}

/** An empty durable database, a sandbox bank, and an employer who may upload. */
export class Stand {
  private constructor(
    private readonly stage: Stage,
    private readonly settings: NodeJS.ProcessEnv,
    readonly database: TemporaryServer,
    readonly employerId: string,
    private readonly preparerKey: string,
  ) {}

  static async open(stage: Stage): Promise<Stand> {
    const database = await stage.own(startTemporaryServer({ durable: true }));
    await runMigrations(database.databaseAdminUrl);
    const bank = await stage.own(startBank(demoBankSettings(true)));
    const settings = { ...demoServiceSettings(database.databaseUrl, bank.url), TICK_MS: String(TICK_MS) };
    const service = await startService(settings);
    try {
      const keys = await ensureStaff(database.databaseUrl, service.url, {});
      const account = await new Portal(bank.url).accountOf(COMPANY);
      const { employerId } = await ensureEmployer(service.url, keys, account);
      return new Stand(stage, settings, database, employerId, keys.preparer);
    } finally {
      await service.stop();
    }
  }

  /** Reads an answer to its end without keeping it, and tells how many bytes it had. */
  async fetched(service: OwnProcess, path: string): Promise<{ seconds: number; bytes: number }> {
    const started = performance.now();
    const response = await fetch(`${service.url}/v1/employers/${this.employerId}/${path}`, {
      headers: { authorization: `Bearer ${this.preparerKey}` },
    });
    if (response.status !== 200 || !response.body) throw new Error(`${path} was answered ${response.status}`);
    let bytes = 0;
    for await (const chunk of response.body) bytes += chunk.length;
    return { seconds: (performance.now() - started) / 1_000, bytes };
  }

  /** Starts the service anew. @param nodeFlags such as `--cpu-prof` */
  startService(nodeFlags: readonly string[] = []): Promise<OwnProcess> {
    return this.stage.own(startService(this.settings, nodeFlags));
  }

  /**
   * Streams a pay file over HTTP and times it from the first byte sent to the last byte answered.
   * @param month counts from this one, at most 11: each upload has its own, since the rows of another of these days are held
   * @throws Error when the answer is not 201
   */
  async upload(service: OwnProcess, rows: number, month: number): Promise<TimedUpload> {
    // Made before its time is taken: whoever sends a file has it.
    const chunks = await payFileOf(rows).toArray();
    const { seconds, status, body } = await this.send(service, Readable.from(chunks), month);
    if (status !== 201) throw new Error(`the upload was answered ${status}: ${body}`);
    const run = JSON.parse(body) as UploadAnswer;
    if (run.payments !== rows) throw new Error(`${run.payments} of ${rows} rows were stored`);
    return { seconds, run };
  }

  /** Streams a file over HTTP, timed like `upload`, whatever the answer. */
  async send(service: OwnProcess, file: Readable, month: number): Promise<TimedAnswer> {
    const from = new Date(Date.now() + month * MS_PER_MONTH + NOT_CUT_OFF_MS);
    const executionDate = earliestExecutionDate(from, DEMO_BANK);
    const query = new URLSearchParams({ period: periodOf(executionDate), executionDate }).toString();
    const started = performance.now();
    const response = await fetch(`${service.url}/v1/employers/${this.employerId}/pay-files?${query}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.preparerKey}`, 'content-type': 'text/csv' },
      body: file,
      duplex: 'half',
      signal: AbortSignal.timeout(UPLOAD_TIMEOUT_MS),
    });
    const body = await response.text();
    const seconds = (performance.now() - started) / 1_000;
    return { seconds, status: response.status, body };
  }
}

function startService(env: NodeJS.ProcessEnv, nodeFlags: readonly string[] = []): Promise<OwnProcess> {
  return startOwnProcess(SERVICE, env, nodeFlags);
}
