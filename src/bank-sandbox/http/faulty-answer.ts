import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FaultAfter, FaultBefore } from '../fault-kinds';
import type { CorruptibleField, FaultScript } from '../faults';
import { parseJson, writeJson } from '../json';
import { corrupted } from './corruption';
import type { Answer } from './exchange';

/** What a call meets instead of being processed. */
export type Interception =
  { answer: Answer } | { drop: true } | { dropThenProcessAfterMs: number } | { hang: true };

const DEFAULT_LATE_COMMIT_MS = 1_000;
const DEFAULT_DRIP_MS = 20;

/** A fault that strikes before the request is processed. */
export function interceptionOf(kind: FaultBefore, script: FaultScript, url: string): Interception {
  switch (kind) {
    case 'request-lost':
      return { drop: true };
    case 'late-commit':
      return { dropThenProcessAfterMs: script.delayMs ?? DEFAULT_LATE_COMMIT_MS };
    case 'hang-before':
      return { hang: true };
    case 'redirect':
      return { answer: { status: 307, headers: { location: url } } };
    case '429': {
      const { retryAfterS } = script;
      const headers = retryAfterS === undefined ? undefined : { 'retry-after': String(retryAfterS) };
      return { answer: { ...scripted(429), headers } };
    }
    case '500-before':
      return { answer: scripted(500) };
    case '401':
    case '403':
    case '404':
    case '409':
    case '410':
    case '422':
      return { answer: scripted(Number(kind)) };
  }
}

/** Sends what is left of a good answer after the fault. */
export async function sendFaulty(
  kind: FaultAfter,
  script: FaultScript,
  answer: Answer,
  response: ServerResponse,
): Promise<void> {
  const body = answer.body === undefined ? '' : writeJson(answer.body);
  switch (kind) {
    case 'answer-lost':
      response.destroy();
      return;
    case 'hang':
      return;
    case '500-after':
      return send(response, 500, writeJson(scripted(500).body));
    case 'garbage':
      return send(response, answer.status, '<html><body>Service gateway</body></html>', 'text/html');
    case 'truncated':
      return send(response, answer.status, body.slice(0, Math.floor(body.length / 2)));
    case 'echo-corrupted':
      return send(response, answer.status, corruptedText(body, script.field ?? 'amount'));
    case 'slow-drip':
      return drip(response, answer.status, body, script.delayMs ?? DEFAULT_DRIP_MS);
    case 'doubled':
      return send(response, answer.status, body);
  }
}

function scripted(status: number): Answer {
  return { status, body: { code: 'SCRIPTED_FAULT', message: 'a scripted fault' } };
}

function send(response: ServerResponse, status: number, body: string, type = 'application/json'): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

async function drip(response: ServerResponse, status: number, body: string, delayMs: number): Promise<void> {
  response.writeHead(status, { 'content-type': 'application/json' });
  for (const byte of Buffer.from(body)) {
    if (response.destroyed) return;
    response.write(Buffer.of(byte));
    await sleep(delayMs, undefined, { ref: false });
  }
  response.end();
}

function corruptedText(body: string, field: CorruptibleField): string {
  return body === '' ? body : writeJson(corrupted(parseJson(body), field));
}
