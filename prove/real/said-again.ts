import type { AxiosResponse } from 'axios';
import { eventually } from '../../test/support/eventually';

const DONE_WITHIN_MS = 15_000;

/**
 * Says something until the answer is not that the bank or the database did not answer: on a busy machine what it rests on
 * may take too long, and mostly nothing was done.
 * @param unknown told of each time it may have been done all the same
 * @throws where that is all that is answered
 */
export async function saidAgain(
  say: () => Promise<AxiosResponse>,
  unknown: () => void = () => undefined,
): Promise<AxiosResponse> {
  let answer = await say();
  await eventually(
    async () => {
      if (!isUnanswered(answer)) return true;
      if (answer.data?.code === 'OUTCOME_UNKNOWN') unknown();
      answer = await say();
      return !isUnanswered(answer);
    },
    DONE_WITHIN_MS,
    () => `it was answered with ${answer.status} again and again: ${JSON.stringify(answer.data)}`,
  );
  return answer;
}

function isUnanswered({ status }: AxiosResponse): boolean {
  return status === 502 || status === 503;
}
