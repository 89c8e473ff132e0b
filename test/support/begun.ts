/** Has the end of something that was begun called where what it was begun for fails. */
export type Begun = (end: () => unknown) => void;

/**
 * Begins something that consists of parts; where one of them fails, ends those that were begun, the last first.
 * @throws what it failed with
 */
export async function wholly<T>(begin: (begun: Begun) => Promise<T>): Promise<T> {
  const ends: (() => unknown)[] = [];
  try {
    return await begin((end) => ends.push(end));
  } catch (error) {
    for (const end of ends.reverse())
      await Promise.resolve()
        .then(end)
        .catch(() => undefined);
    throw error;
  }
}

const TIMES = 3;

/** Tries what may fail on a busy machine three times. @throws what the last of them failed with */
export async function thrice<T>(attempt: () => Promise<T>): Promise<T> {
  for (let time = 1; ; time += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (time === TIMES) throw error;
    }
  }
}
