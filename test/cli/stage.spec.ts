import { setTimeout as sleep } from 'node:timers/promises';
import { Interrupted, onStage, Stage, Started } from '../../src/cli/stage';

describe('a stage', () => {
  const stopped: string[] = [];
  beforeEach(() => stopped.splice(0));

  const thing = (name: string, ended?: Promise<string>): Started => ({
    ended,
    stop: async () => void stopped.push(name),
  });
  const forever = () => new Promise<never>(() => undefined);

  it('stops what was started, the last first, and answers with what the work did', async () => {
    const result = await onStage(async (stage) => {
      await stage.own(Promise.resolve(thing('database')));
      await stage.own(Promise.resolve(thing('service')));
      return 'done';
    });
    expect(result).toBe('done');
    expect(stopped).toEqual(['service', 'database']);
  });

  it('stops what was started when the work fails, and tells why it failed', async () => {
    const work = onStage(async (stage) => {
      await stage.own(Promise.resolve(thing('database')));
      throw new Error('no such sample');
    });
    await expect(work).rejects.toThrow('no such sample');
    expect(stopped).toEqual(['database']);
  });

  it('ends the work when something on it ends unasked', async () => {
    const work = onStage(async (stage) => {
      await stage.own(Promise.resolve(thing('database')));
      await stage.own(
        Promise.resolve(
          thing(
            'service',
            sleep(10).then(() => 'The service ended.'),
          ),
        ),
      );
      await stage.closing;
    });
    await expect(work).rejects.toThrow('The service ended.');
    expect(stopped).toEqual(['service', 'database']);
  });

  it('stops what comes up only after it was cleared', async () => {
    const stage = new Stage();
    const late = stage.own(sleep(10).then(() => thing('late')));
    await stage.clear();
    await expect(late).rejects.toThrow('stopped while it was starting');
    expect(stopped).toEqual(['late']);
  });

  it('stops the others when one cannot be stopped, and tells', async () => {
    const stage = new Stage();
    await stage.own(Promise.resolve(thing('database')));
    await stage.own(Promise.resolve({ stop: () => Promise.reject(new Error('stuck')) }));
    await expect(stage.clear()).rejects.toThrow('Not everything could be stopped: Error: stuck');
    expect(stopped).toEqual(['database']);
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('is cleared on %s, and leaves the signal to others afterwards', async (signal, exitCode) => {
    const before = process.listenerCount(signal);
    const work = onStage(async (stage) => {
      await stage.own(Promise.resolve(thing('service')));
      process.emit(signal, signal);
      await Promise.race([stage.closing, forever()]);
    });
    const error: unknown = await work.catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(Interrupted);
    expect((error as Interrupted).exitCode).toBe(exitCode);
    expect(stopped).toEqual(['service']);
    expect(process.listenerCount(signal)).toBe(before);
  });
});
