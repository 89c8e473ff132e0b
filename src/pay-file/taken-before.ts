import { PayRunStatus } from '../domain/pay-run';
import { showId } from '../http/prefixed-id';
import { PayRun } from '../pay-run/pay-run.entity';

type Advice = (run: string) => string;

const APPROVED: Advice = () =>
  'It is approved and is paid as it stands. Where it is wrong, amend or cancel it while nothing of it is submitted.';
const SUPPLEMENT: Advice = (run) =>
  `Further rows are a supplement: upload a file of them with supplementOf=${run}.`;
const BEING_PAID: Advice = (run) =>
  `It is being paid: wait for its end. What it does not pay, its successor pays then. ${SUPPLEMENT(run)}`;

/** What can be done with the run of a file; in a state without words nothing has to be. */
const ADVICE: Readonly<Partial<Record<PayRunStatus, Advice>>> = {
  APPROVED,
  BUILDING: APPROVED,
  VERIFIED: APPROVED,
  SUBMITTING: BEING_PAID,
  FOLLOWING: BEING_PAID,
  SETTLED: (run) => `It has paid, and pays nothing more. ${SUPPLEMENT(run)}`,
  PARTLY_SETTLED: (run) =>
    `It has ended and pays nothing more. What it did not pay, its successor pays, where it has none yet: POST pay-runs/${run}/successor with {"executionDate":"YYYY-MM-DD"}. ${SUPPLEMENT(run)}`,
};

/** What can be done where a file comes again whose run does not wait for approval any more; null where it does. */
export function adviceOf({ id, status }: Pick<PayRun, 'id' | 'status'>): string | null {
  const run = showId('run', id);
  const advice = ADVICE[status];
  return advice ? `Nothing new was stored: the file is ${run}. ${advice(run)}` : null;
}
