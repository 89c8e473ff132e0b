/** Whether a stream ended because whoever asked has hung up: there is nobody to tell. */
export function hasHungUp(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE';
}
