/** How many times slower a machine may be than the one the waits were tried on; only what fails waits so long. */
export const PATIENCE = 4;

/** Waits until something holds; `timeoutMs` on a quick machine. */
export async function eventually(
  holds: () => boolean | Promise<boolean>,
  timeoutMs: number,
  why: () => string = () => 'it never held',
): Promise<void> {
  const begun = Date.now();
  while (!(await holds())) {
    const waited = Date.now() - begun;
    if (waited > PATIENCE * timeoutMs) throw new Error(why());
    // Looking costs what waits is made of: a fifth of the wait is added to it at most.
    await new Promise((resolve) => setTimeout(resolve, Math.min(Math.max(40, waited / 5), 400)));
  }
}
