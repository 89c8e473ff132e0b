import * as http from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { DEFAULT_HTTP_LIMITS } from '../../src/bank/http';

/** Longer than an answer takes on a busy machine. */
export const LIMITS = {
  ...DEFAULT_HTTP_LIMITS,
  connectTimeoutMs: 5_000,
  totalTimeoutMs: 10_000,
  maxBodyBytes: 1_000,
};
/** For what is given up. */
export const SHORT_LIMITS = { ...LIMITS, connectTimeoutMs: 1_000, totalTimeoutMs: 2_000 };

export interface SeenRequest {
  method: string;
  url: string;
  headers: http.IncomingHttpHeaders;
  body: string;
  socket: Socket;
}

export type Handler = (request: SeenRequest, response: http.ServerResponse) => void;

/** A small HTTP server that answers as each test says and remembers what it was asked. */
export class ScriptedBank {
  readonly requests: SeenRequest[] = [];
  handler: Handler = (_request, response) => answer(response, 200, {});
  private readonly server = http.createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const request: SeenRequest = {
        method: incoming.method ?? '',
        url: incoming.url ?? '',
        headers: incoming.headers,
        body: Buffer.concat(chunks).toString('utf8'),
        socket: incoming.socket,
      };
      this.requests.push(request);
      this.handler(request, response);
    });
  });

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

export function answer(
  response: http.ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'Content-Type': 'application/json', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

export const INSTRUCTION_BODY = {
  id: 4711,
  status: { value: 'INITIATED', label: 'Initiated' },
  groupStatus: { value: 'INITIATED', label: 'Initiated' },
  history: [{ status: { value: 'INI_STARTED', label: '' }, date: '2026-03-02T10:00:00+00:00' }],
  calculatedNbPaymentTransactions: 0,
  calculatedAmount: { value: 0, currency: 'EUR' },
  customerInstructionInformation: {
    paymentInstrument: 'CreditTransfer',
    customerInstructionReference: 'run-1-1-1',
    requestedNbPaymentTransactions: 2,
    requestedTotalAmount: { value: 300050, currency: 'EUR' },
    requestedExecutionDate: '2026-03-10',
  },
  customerInstructionOrderingParties: { debtor: { name: 'ACME' } },
  links: [],
};

export const PAYMENT_BODY = {
  paymentTransactionInformation: {
    paymentInstrument: 'CreditTransfer',
    paymentTransactionIdentification: {
      messageId: 'm-1',
      endToEndId: 'NOTPROVIDED',
      id: 900,
      customerInstructionId: 4711,
    },
    direction: 'OUTWARD',
  },
  paymentTransactionInternalInformation: {
    id: 901,
    status: { value: 'INITIATED', label: 'Initiated' },
    history: [{ status: { value: 'INI_STARTED', label: '' }, date: '2026-03-02T10:00:01+00:00' }],
    contractId: 5,
  },
  paymentTransactionDateInformation: {
    creationDate: '2026-03-02T10:00:01+00:00',
    instructedDate: '2026-03-10',
  },
  paymentTransactionAmountInformation: {
    instructedAmount: { value: 150025, currency: 'EUR' },
    chargesAmount: { value: 0, currency: 'EUR' },
  },
  paymentTransactionParties: {
    creditor: {
      name: 'Ada Lovelace',
      accountId: { type: 'IBAN', value: 'FR76 3000 6000 0112 3456 7890 189' },
    },
  },
  links: [],
};
