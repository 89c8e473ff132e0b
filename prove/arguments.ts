import { parseArgs } from 'node:util';
import { type Guard, GUARDS, isGuard } from './guards';

const PARTS = ['model', 'faults', 'mix'] as const;
export type Part = (typeof PARTS)[number];

/** What is to be proved, as the command line says it. */
export interface Asked {
  short: boolean;
  /** The short proof plays every other fault of its table, from the first or from the second on. */
  half: 1 | 2;
  parts: readonly Part[];
  /** First seed of the model, and of the mix. */
  seed: number;
  /** Seeds of the model. */
  seeds: number;
  /** Length of the mix. */
  minutes: number;
  without: Guard | undefined;
  /** Only faults whose name contains this, or one of these between bars. */
  fault: string | undefined;
  /** One seed to be played again. */
  replay: { part: 'model' | 'mix'; seed: number } | undefined;
}

/** The command line is not one. */
export class BadArguments extends Error {}

export const USAGE = `npm run prove -- [--short [--half 1|2]] [--only model|faults|mix] [--seed n] [--seeds n] [--minutes n]
                 [--fault words] [--without ${Object.keys(GUARDS).join('|')}] [--replay model:n|mix:n]`;

const MILLION = 1_000_000;
/** What the short run spends: some seconds on the model, and twenty on the mix. */
const SHORT = { seeds: 30_000, minutes: 0.3 };
const LONG = { seeds: MILLION, minutes: 5 };
/** Enough for every guard to be missed many times over. */
const SEEDS_WITHOUT = 10_000;

const OPTIONS = {
  short: { type: 'boolean' },
  half: { type: 'string' },
  only: { type: 'string' },
  seed: { type: 'string' },
  seeds: { type: 'string' },
  minutes: { type: 'string' },
  fault: { type: 'string' },
  without: { type: 'string' },
  replay: { type: 'string' },
} as const;

/** @throws BadArguments with words for whoever typed them */
export function readArguments(args: readonly string[]): Asked {
  const given = parsed(args);
  const without = given.without === undefined ? undefined : guardOf(given.without);
  const usual = given.short ? SHORT : LONG;
  assertTogether(given);
  const only = given.only ?? (given.fault === undefined ? undefined : 'faults');
  return {
    short: given.short ?? false,
    half: given.half !== undefined && oneOf('--half', given.half, ['1', '2']) === '2' ? 2 : 1,
    parts: only === undefined ? PARTS : [oneOf('--only', only, PARTS)],
    seed: given.seed === undefined ? 1 : wholeNumber('--seed', given.seed),
    seeds:
      given.seeds === undefined
        ? without
          ? SEEDS_WITHOUT
          : usual.seeds
        : atLeastOne('--seeds', given.seeds),
    minutes: given.minutes === undefined ? usual.minutes : minutesOf(given.minutes),
    without,
    fault: given.fault,
    replay: given.replay === undefined ? undefined : replayOf(given.replay),
  };
}

/** What would be left out without a word, and so prove nothing. */
function assertTogether({ short, half, only, fault, without, replay }: ReturnType<typeof parsed>): void {
  if (half !== undefined && (!short || fault !== undefined))
    throw new BadArguments('--half is of the faults of --short, and --fault names its own');
  if (fault !== undefined && only !== undefined && only !== 'faults')
    throw new BadArguments(`--fault is of the faults, and --only ${only} plays none`);
  if (without === undefined) return;
  if (fault !== undefined || only !== undefined)
    throw new BadArguments('--without plays the model, and neither --fault nor --only says anything of it');
  if (replay?.startsWith('mix')) throw new BadArguments('--without takes guards from the model alone');
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, strict: true }).values;
  } catch (error) {
    throw new BadArguments(error instanceof Error ? error.message : String(error));
  }
}

function guardOf(name: string): Guard {
  if (isGuard(name)) return name;
  throw new BadArguments(`there is no guard ${name}; the guards are ${Object.keys(GUARDS).join(', ')}`);
}

function oneOf<T extends string>(option: string, value: string, values: readonly T[]): T {
  const found = values.find((one) => one === value);
  if (found === undefined) throw new BadArguments(`${option} must be ${values.join(' or ')}, not ${value}`);
  return found;
}

/** Nine digits: any seed that is worth typing. */
function wholeNumber(option: string, text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new BadArguments(`${option} must be a whole number, not ${text}`);
  return Number(text);
}

function atLeastOne(option: string, text: string): number {
  const number = wholeNumber(option, text);
  if (number === 0) throw new BadArguments(`${option} must be at least 1: none prove nothing`);
  return number;
}

/** A night at most. */
function minutesOf(text: string): number {
  const minutes = Number(text);
  if (!/^\d{1,3}(\.\d)?$/.test(text) || minutes > 600) {
    throw new BadArguments(`--minutes must be a number up to 600, not ${text}`);
  }
  return minutes;
}

function replayOf(text: string): { part: 'model' | 'mix'; seed: number } {
  const [part = '', seed = ''] = text.split(':');
  return { part: oneOf('--replay', part, ['model', 'mix']), seed: wholeNumber('--replay', seed) };
}
