import { BATCH_ROWS } from '../../src/submission/add-window';
import type { CrashPoint } from '../../src/config/crash-point';
import { crash } from './crash-trials';
import { ANSWERS, scripted, type Trial } from './trial';

/** Two whole batches of adds and a third of some rows. */
export const ROWS_IN_BATCHES = 2 * BATCH_ROWS + 20;
/** An add in the middle of the second batch. */
const IN_THE_SECOND = BATCH_ROWS + BATCH_ROWS / 2;
/** The passes around the second batch: intended with the outcomes of the first, answered, recorded. */
const POINTS: readonly { point: CrashPoint; hit: number }[] = [
  { point: 'build.adds-intended', hit: 2 },
  { point: 'build.adds-sent', hit: 2 },
  { point: 'build.adds-recorded', hit: 2 },
];

/** Faults of an add, and kills, while one batch of adds follows another. */
export function batchTrials(): Trial[] {
  const inBatches = { stand: 'batches', instructions: 1 } as const;
  return [
    ...ANSWERS.map((kind) => ({
      ...scripted(`add ${kind} in the second batch`, kind === 'late-commit', {
        operation: 'add',
        kind,
        nth: IN_THE_SECOND,
        delayMs: 400,
      }),
      ...inBatches,
    })),
    ...POINTS.flatMap((pass) =>
      [undefined, ...(pass.point === 'build.adds-intended' ? [] : ANSWERS)].map((kind) => {
        const trial = crash(pass, kind && { operation: 'add', kind, nth: IN_THE_SECOND });
        return { ...trial, ...inBatches, fault: `${trial.fault}, of the second batch`, short: false };
      }),
    ),
  ];
}
