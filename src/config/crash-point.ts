/** Moments at which a kill is tried. A production build leaves the calls out. */
export type CrashPoint =
  | 'upload.stored'
  | 'approval.recorded'
  | 'build.initiate-intended'
  | 'build.initiated'
  | 'build.adds-intended'
  | 'build.adds-sent'
  | 'build.adds-recorded'
  | 'build.verified'
  | 'build.abandoned'
  | 'gate.passed'
  | 'submit.intended'
  | 'submit.sent'
  | 'submit.recorded'
  | 'recovery.recorded'
  | 'burial.delete-intended'
  | 'burial.deleted'
  | 'burial.delete-recorded'
  | 'desk.confirmed'
  | 'follow.read'
  | 'follow.recorded';

const hits = new Map<string, number>();

/**
 * Kills this process with -9 at the k-th pass, when the environment asks for it: `PAYRUN_CRASH_AT=name:k`; or sends it
 * another signal, such as the one that stops it for a while: `PAYRUN_CRASH_AT=name:k:SIGSTOP`.
 */
export function crashPoint(name: CrashPoint): void {
  const [armed, nth, signal = 'SIGKILL'] = (process.env.PAYRUN_CRASH_AT ?? '').split(':');
  if (armed !== name) return;
  const count = (hits.get(name) ?? 0) + 1;
  hits.set(name, count);
  if (count === Number(nth ?? '1')) process.kill(process.pid, signal);
}
