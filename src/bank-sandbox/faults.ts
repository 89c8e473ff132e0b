import { z } from 'zod';

/** What can go wrong with a call: first without the request being processed, then after it was. */
export const FAULTS_BEFORE = [
  'request-lost',
  'late-commit',
  'hang-before',
  '500-before',
  '401',
  '403',
  '404',
  '409',
  '422',
  '429',
  'redirect',
] as const;
export const FAULTS_AFTER = [
  'answer-lost',
  '500-after',
  'garbage',
  'truncated',
  'slow-drip',
  'hang',
  'echo-corrupted',
  'doubled',
] as const;
export const FAULTS_OF_WEBHOOKS = ['doubled', 'dropped', 'reordered', 'forged'] as const;

export type FaultBefore = (typeof FAULTS_BEFORE)[number];
export type FaultAfter = (typeof FAULTS_AFTER)[number];
export type FaultOfWebhook = (typeof FAULTS_OF_WEBHOOKS)[number];

export function isBefore(kind: string): kind is FaultBefore {
  return (FAULTS_BEFORE as readonly string[]).includes(kind);
}

export function isAfter(kind: string): kind is FaultAfter {
  return (FAULTS_AFTER as readonly string[]).includes(kind);
}

export function isOfWebhook(kind: string): kind is FaultOfWebhook {
  return (FAULTS_OF_WEBHOOKS as readonly string[]).includes(kind);
}

/** An hour: the longest delay, and the longest `Retry-After`. */
const MAX_DELAY_MS = 3_600_000;

/** A script for one operation (`*`: all, `webhook`: deliveries); calls count from when it was given. */
export const faultScript = z
  .object({
    operation: z.string().min(1).max(60),
    kind: z.enum([...FAULTS_BEFORE, ...FAULTS_AFTER, 'dropped', 'reordered', 'forged']),
    /** Only the nth call, from 1. */
    nth: z.int().min(1).optional(),
    /** Each nth call. */
    every: z.int().min(1).optional(),
    /** This share of the calls, by a generator started with `seed`. */
    rate: z.number().min(0).max(1).optional(),
    seed: z.int().optional(),
    /** The fault happens at most so often. */
    times: z.int().min(1).optional(),
    /** Of a late commit, a slow drip (per byte) or a reordered webhook. */
    delayMs: z.int().min(0).max(MAX_DELAY_MS).optional(),
    /** A 429 without it carries no `Retry-After`. */
    retryAfterS: z
      .int()
      .min(0)
      .max(MAX_DELAY_MS / 1000)
      .optional(),
    /** What a corrupted echo gets wrong. */
    field: z.enum(['amount', 'currency', 'iban', 'messageId', 'name', 'id']).optional(),
  })
  .refine(({ nth, every, rate }) => [nth, every, rate].filter((when) => when !== undefined).length <= 1)
  .refine(({ operation, kind }) =>
    operation === 'webhook' ? isOfWebhook(kind) : isBefore(kind) || isAfter(kind),
  );
export type FaultScript = z.infer<typeof faultScript>;

interface Running {
  id: number;
  script: FaultScript;
  calls: number;
  hits: number;
  random: () => number;
}

/** More scripts than any test needs. */
const MAX_SCRIPTS = 1_000;

/** The faults that were asked for, and which call meets one. */
export class Faults {
  private running: Running[] = [];
  private lastId = 0;

  add(script: FaultScript): { id: number } {
    this.lastId += 1;
    const random = generator(script.seed ?? 1);
    this.running = [...this.running, { id: this.lastId, script, calls: 0, hits: 0, random }].slice(
      -MAX_SCRIPTS,
    );
    return { id: this.lastId };
  }

  clear(): void {
    this.running = [];
  }

  list(): { id: number; script: FaultScript; calls: number; hits: number }[] {
    return this.running.map(({ id, script, calls, hits }) => ({ id, script, calls, hits }));
  }

  /** Counts one call and answers the fault it meets, if any; the script given first wins. */
  next(operation: string): FaultScript | undefined {
    let met: FaultScript | undefined;
    for (const fault of this.running) {
      const { script } = fault;
      const concerned =
        script.operation === operation || (script.operation === '*' && operation !== 'webhook');
      if (!concerned) continue;
      fault.calls += 1;
      if (met || fault.hits >= (script.times ?? Infinity) || !strikes(fault)) continue;
      fault.hits += 1;
      met = script;
    }
    return met;
  }
}

function strikes({ script, calls, random }: Running): boolean {
  if (script.nth !== undefined) return calls === script.nth;
  if (script.every !== undefined) return calls % script.every === 0;
  if (script.rate !== undefined) return random() < script.rate;
  return true;
}

/** mulberry32: the same seed strikes the same calls in every run. */
function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
