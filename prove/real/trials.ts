import { buttonTrial } from './buttons';
import { callTrials } from './call-trials';
import { crashTrials } from './crash-trials';
import { networkTrials } from './network-trials';
import { processTrials } from './process-trials';
import { readTrials } from './read-trials';
import type { Trial } from './trial';
import { webhookTrials } from './webhook-trials';

/** Every trial there is. */
export function allTrials(): Trial[] {
  return [
    ...callTrials(),
    ...readTrials(),
    ...networkTrials(),
    ...webhookTrials(),
    ...processTrials(),
    buttonTrial(),
    ...crashTrials(),
  ];
}
