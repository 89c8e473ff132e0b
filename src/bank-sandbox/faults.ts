import { z } from 'zod';
import {
  FAULTS_AFTER,
  FAULTS_BEFORE,
  FAULTS_OF_LISTS,
  FAULTS_OF_WEBHOOKS,
  isAfter,
  isBefore,
  isListOperation,
  isOfList,
  isOfWebhook,
} from './fault-kinds';

/** An hour: the longest delay, and the longest `Retry-After`. */
const MAX_DELAY_MS = 3_600_000;
/** Enough for any alarm, and fewer than the connections a process may open. */
const MAX_COPIES = 500;
/** As many as the largest page. */
const MAX_MOVED = 100;

const CORRUPTIBLE_FIELDS = [
  'amount',
  'currency',
  'iban',
  'messageId',
  'name',
  'id',
  'status',
  'charges',
  'chargeBearer',
] as const;
export type CorruptibleField = (typeof CORRUPTIBLE_FIELDS)[number];

/** A script for one operation (`*`: all, `webhook`: deliveries); calls count from when it was given. */
export const faultScript = z
  .strictObject({
    operation: z.string().min(1).max(60),
    kind: z.enum([...FAULTS_BEFORE, ...FAULTS_AFTER, ...FAULTS_OF_LISTS, ...FAULTS_OF_WEBHOOKS]),
    /** Only the nth call, from 1. */
    nth: z.int().min(1).optional(),
    /** Each nth call. */
    every: z.int().min(1).optional(),
    /** This share of the calls, by a generator started with `seed`. */
    rate: z.number().min(0).max(1).optional(),
    seed: z.int().optional(),
    /** The fault happens at most so often. */
    times: z.int().min(1).optional(),
    /** Of a late commit, a slow drip (per byte), or a reordered, late or replayed webhook. */
    delayMs: z.int().min(0).max(MAX_DELAY_MS).optional(),
    /** A 429 without it carries no `Retry-After`. */
    retryAfterS: z
      .int()
      .min(0)
      .max(MAX_DELAY_MS / 1000)
      .optional(),
    /** What a corrupted echo, or a record of a list that is changed or there twice, gets wrong; one without it stays as it is. */
    field: z.enum(CORRUPTIBLE_FIELDS).optional(),
    /** What a wrong list does to the middle record of the page. */
    what: z.enum(['missing', 'foreign', 'fee', 'changed', 'twice']).optional(),
    /** By how many records the window of a moving list is shifted; below 0 towards the beginning. */
    by: z
      .int()
      .min(-MAX_MOVED)
      .max(MAX_MOVED)
      .refine((records) => records !== 0)
      .optional(),
    /** How often a flooded webhook is sent. */
    copies: z.int().min(2).max(MAX_COPIES).optional(),
  })
  .refine(({ nth, every, rate }) => [nth, every, rate].filter((when) => when !== undefined).length <= 1)
  .refine(({ operation, kind }) => {
    if (operation === 'webhook') return isOfWebhook(kind);
    if (isOfList(kind)) return operation === '*' || isListOperation(operation);
    return isBefore(kind) || isAfter(kind);
  });
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
      if (!concerns(script, operation)) continue;
      fault.calls += 1;
      // Asked at every call, so that a seed strikes the same calls whatever other scripts there are.
      const struck = strikes(fault);
      if (met || !struck || fault.hits >= (script.times ?? Infinity)) continue;
      fault.hits += 1;
      met = script;
    }
    return met;
  }
}

function concerns(script: FaultScript, operation: string): boolean {
  if (script.operation !== '*') return script.operation === operation;
  return isOfList(script.kind) ? isListOperation(operation) : operation !== 'webhook';
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
