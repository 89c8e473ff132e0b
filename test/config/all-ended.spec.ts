import { allEnded } from '../../src/config/all-ended';

it('waits for each of them, whatever becomes of one, and throws the first failure', async () => {
  let ended = false;
  const slow = new Promise((resolve) => setTimeout(resolve, 50)).then(() => (ended = true));
  const failure = new Error('of the first');
  const failures = [Promise.reject(failure), slow, Promise.reject(new Error('of the last'))];
  await expect(allEnded(failures)).rejects.toBe(failure);
  expect(ended).toBe(true);
  await expect(allEnded([slow])).resolves.toBeUndefined();
});
