import type { AxiosResponse } from 'axios';
import { eventually } from '../../test/support/eventually';

const DONE_WITHIN_MS = 15_000;

/**
 * Says something until the answer is not that the bank or the database did not answer: on a busy machine what it rests on
 * may take too long, and nothing was done. @throws where that is all that is answered
 */
export async function saidAgain(say: () => Promise<AxiosResponse>): Promise<AxiosResponse> {
  let answer = await say();
  await eventually(
    async () => {
      if (!isUnanswered(answer)) return true;
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
