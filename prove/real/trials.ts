import { balanceTrials } from './balance-trials';
import { batchTrials } from './batch-trials';
import { buttonTrial } from './buttons';
import { callTrials } from './call-trials';
import { crashTrials } from './crash-trials';
import { databaseTrials } from './database-trials';
import { lateSubmitTrials } from './late-submit-trials';
import { networkTrials } from './network-trials';
import { pairTrials } from './pair-trials';
import { peopleTrials } from './people-trials';
import { processTrials } from './process-trials';
import { readTrials } from './read-trials';
import { refusalTrials } from './refusal-trials';
import { refusedRowTrials } from './refused-row-trials';
import { totalTrials } from './total-trials';
import type { Trial } from './trial';
import { trueLengthTrials } from './true-length-trials';
import { webhookTrials } from './webhook-trials';

/** Every trial there is. */
export function allTrials(): Trial[] {
  return [
    ...callTrials(),
    ...readTrials(),
    ...totalTrials(),
    ...balanceTrials(),
    ...lateSubmitTrials(),
    ...networkTrials(),
    ...webhookTrials(),
    ...processTrials(),
    ...databaseTrials(),
    ...peopleTrials(),
    ...refusedRowTrials(),
    ...refusalTrials(),
    ...pairTrials(),
    buttonTrial(),
    ...crashTrials(),
    ...batchTrials(),
    ...trueLengthTrials(),
  ];
}
