import { Child } from './child';
import { startServiceProcess } from './stage';

/** A service that dies more often than this does not die of somebody's kill. */
const MAX_RESTARTS = 20;

/**
 * The service as a process that is started again, at the same address, when it ends unasked: what it had in hand it
 * takes up from the database.
 * @param onRestart told how it ended before it is started again
 */
export async function keepService(
  settings: NodeJS.ProcessEnv,
  onRestart: (how: string) => void,
): Promise<Child> {
  let child = await startServiceProcess(settings);
  const { url } = child;
  const again = { ...settings, PORT: new URL(url).port };
  let stopping = false;
  const watch = async (): Promise<string> => {
    for (let restarts = 0; ; restarts += 1) {
      const how = await child.ended;
      if (stopping || restarts === MAX_RESTARTS) return how;
      onRestart(how);
      child = await startServiceProcess(again);
    }
  };
  return {
    url,
    ended: watch(),
    lastLines: () => child.lastLines(),
    stop: () => {
      stopping = true;
      return child.stop();
    },
  };
}
