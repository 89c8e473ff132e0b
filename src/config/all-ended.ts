/** Waits until all of them have ended, whatever becomes of one. @throws the first failure */
export async function allEnded(works: readonly Promise<unknown>[]): Promise<void> {
  const ended = await Promise.allSettled(works);
  const failed = ended.find((one) => one.status === 'rejected');
  if (failed) throw failed.reason;
}
