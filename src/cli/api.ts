import { setTimeout as sleep } from 'node:timers/promises';
import axios, { AxiosError, AxiosInstance, AxiosResponse, isAxiosError } from 'axios';
import type { AccountItem } from '../employer/account-view';
import type { EmployerItem } from '../employer/employer-view';
import type { EmployerRole } from '../http/allow';
import type { UploadAnswer } from '../pay-file/upload-answer';
import type { RunDocument } from '../pay-run/pay-run.dto';
import type { RunReportDocument } from '../reconciliation/reconciliation.dto';

/** An upload checks and stores every row before it answers. */
const TIMEOUT_MS = 60_000;
/** The largest answer is a run with its instructions, or a thousand faults: half a megabyte. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;

/** A service that was killed listens again after a second or two; half a minute is enough for the slowest. */
const UNHEARD = ['ECONNREFUSED', 'ECONNRESET', 'EPIPE'];
const UNHEARD_PAUSE_MS = 250;
const MAX_UNHEARD = 120;

/** The service said no. */
export class Refused extends Error {
  readonly code: string;

  /** @param problem the body of the answer (RFC 9457) */
  constructor(
    readonly status: number,
    readonly problem: Readonly<Record<string, unknown>>,
  ) {
    super(`${status} ${String(problem['code'])}: ${String(problem['detail'])}`);
    this.code = String(problem['code']);
  }
}

/** An open attention, as far as a person at a terminal needs it. */
export interface AttentionLine {
  readonly kind: string;
  readonly happened: string;
}

/** Who a key belongs to. */
export interface Whoami {
  readonly person: { readonly id: string; readonly name: string; readonly administrator: boolean };
}

/** The service's API as one person uses it. Every method throws `Refused` when the service says no. */
export class Api {
  private readonly http: AxiosInstance;
  private unheard = 0;

  /** @param keepTrying whether a request nobody heard is sent again; not unless asked for */
  constructor(
    baseUrl: string,
    key: string,
    private readonly keepTrying: () => boolean = () => false,
  ) {
    this.http = axios.create({
      baseURL: `${baseUrl}/v1`,
      headers: { Authorization: `Bearer ${key}` },
      timeout: TIMEOUT_MS,
      maxContentLength: MAX_ANSWER_BYTES,
      maxBodyLength: Infinity,
      maxRedirects: 0,
      proxy: false,
      validateStatus: () => true,
    });
    this.http.interceptors.response.use(undefined, (error: unknown) => this.sendAgain(error));
  }

  /** Nobody listens: the service is being started again. Whoever calls knows what an answer to a repeat means. */
  private async sendAgain(error: unknown): Promise<AxiosResponse> {
    const config = isAxiosError(error) && error.response === undefined ? error.config : undefined;
    if (config === undefined || !UNHEARD.includes((error as AxiosError).code ?? '')) throw error;
    this.unheard += 1;
    if (this.unheard > MAX_UNHEARD || !this.keepTrying()) throw error;
    await sleep(UNHEARD_PAUSE_MS);
    return this.http.request(config);
  }

  whoami(): Promise<Whoami> {
    return this.get('/me');
  }

  /** The first employers this person may see. */
  async employers(): Promise<EmployerItem[]> {
    return (await this.get<{ items: EmployerItem[] }>('/employers?limit=500')).items;
  }

  createEmployer(settings: {
    name: string;
    timeZone: string;
    rowsPerInstruction: number;
    tickIbans?: boolean;
  }): Promise<EmployerItem> {
    return this.post('/employers', settings);
  }

  grantRole(employerId: string, personId: string, role: EmployerRole): Promise<unknown> {
    return this.post(`/employers/${employerId}/people/${personId}/roles`, { role });
  }

  async accounts(employerId: string): Promise<AccountItem[]> {
    return (await this.get<{ items: AccountItem[] }>(`/employers/${employerId}/accounts`)).items;
  }

  /** Attaches an account; the service probes it at once. */
  attachAccount(
    employerId: string,
    account: { bankAccountId: string; debtorName: string; bankIdentityId: string },
  ): Promise<AccountItem> {
    return this.post(`/employers/${employerId}/accounts`, account);
  }

  probeAccount(employerId: string, accountId: string): Promise<AccountItem> {
    return this.post(`/employers/${employerId}/accounts/${accountId}/probe`, {});
  }

  /** @param balance as the bank's portal shows it, such as `1234.56` */
  checkBalance(employerId: string, accountId: string, balance: string): Promise<AccountItem> {
    return this.post(`/employers/${employerId}/accounts/${accountId}/balance-check`, { balance });
  }

  async uploadPayFile(
    employerId: string,
    content: Buffer,
    fields: Readonly<Record<string, string>>,
  ): Promise<UploadAnswer> {
    const headers = { 'Content-Type': 'text/csv' };
    return answerOf(
      await this.http.post(`/employers/${employerId}/pay-files`, content, { headers, params: fields }),
    );
  }

  run(employerId: string, runId: string): Promise<RunDocument> {
    return this.get(`/employers/${employerId}/pay-runs/${runId}`);
  }

  approve(
    employerId: string,
    runId: string,
    seen: { rootHash: string; total: string },
  ): Promise<RunDocument> {
    return this.post(`/employers/${employerId}/pay-runs/${runId}/approvals`, seen);
  }

  /** Says that all new IBANs of the version with this hash were looked at, and why at once. */
  tickAllIbans(employerId: string, runId: string, rootHash: string, reason: string): Promise<RunDocument> {
    const body = { rootHash, all: true, reason };
    return this.post(`/employers/${employerId}/pay-runs/${runId}/iban-ticks`, body);
  }

  reconciliation(employerId: string, runId: string): Promise<RunReportDocument> {
    return this.get(`/employers/${employerId}/pay-runs/${runId}/reconciliation`);
  }

  async attentions(employerId: string): Promise<AttentionLine[]> {
    return (await this.get<{ items: AttentionLine[] }>(`/employers/${employerId}/attention`)).items;
  }

  private async get<T>(path: string): Promise<T> {
    return answerOf(await this.http.get(path));
  }

  private async post<T>(path: string, body: object): Promise<T> {
    return answerOf(await this.http.post(path, body));
  }
}

function answerOf<T>({ status, data }: AxiosResponse): T {
  if (status >= 200 && status < 300) return data as T;
  throw new Refused(status, (data ?? {}) as Record<string, unknown>);
}
