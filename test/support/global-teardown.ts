/** Stops the server and removes its data; should the run be killed, the server goes by itself. */
export default async function globalTeardown(): Promise<void> {
  await globalThis.payrunTestServer?.stop();
}
