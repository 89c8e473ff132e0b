import type { Config } from './env';

type Delays = Pick<Config, 'FOLLOW_DELAYS_MS' | 'FOLLOW_STEP_MS'>;

/** In how many milliseconds what has been open for so long is read next. */
export function readDelayMs(config: Delays, openForMs: number): number {
  return config.FOLLOW_DELAYS_MS.reduce((delayMs, nextMs, step) =>
    openForMs >= usedAfterMs(step, config) ? nextMs : delayMs,
  );
}

/** Whether what has been open for so long is read by the last of the delays, which is used for good. */
export function isAtLastDelay(config: Delays, openForMs: number): boolean {
  return openForMs >= usedAfterMs(config.FOLLOW_DELAYS_MS.length - 1, config);
}

/** After how long a delay is used, by its place. */
function usedAfterMs(step: number, { FOLLOW_STEP_MS }: Delays): number {
  return step * Math.max(FOLLOW_STEP_MS, 1);
}
