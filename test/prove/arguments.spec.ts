import { BadArguments, readArguments } from '../../prove/arguments';
import { proveFaults } from '../../prove/real/faults';
import { Report } from '../../prove/report';
import { breaks, Line, wordsOf } from '../../prove/table';

describe('the command line of the proof', () => {
  it('asks for everything, a million seeds and five minutes, when it is empty', () => {
    expect(readArguments([])).toMatchObject({
      short: false,
      parts: ['model', 'faults', 'mix'],
      seed: 1,
      seeds: 1_000_000,
      minutes: 5,
      without: undefined,
      replay: undefined,
    });
  });

  it('asks for less when it is to be short, and for exactly what it names', () => {
    expect(readArguments(['--short'])).toMatchObject({ short: true, half: 1, seeds: 30_000, minutes: 0.3 });
    expect(readArguments(['--short', '--half', '2'])).toMatchObject({ short: true, half: 2 });
    expect(readArguments(['--short', '--seeds', '7', '--minutes', '1.5'])).toMatchObject({
      seeds: 7,
      minutes: 1.5,
    });
    expect(readArguments(['--only', 'mix', '--seed', '42'])).toMatchObject({ parts: ['mix'], seed: 42 });
    expect(readArguments(['--without', 'gate'])).toMatchObject({ without: 'gate', seeds: 10_000 });
    expect(readArguments(['--replay', 'mix:9'])).toMatchObject({ replay: { part: 'mix', seed: 9 } });
    expect(readArguments(['--fault', 'add hang'])).toMatchObject({ parts: ['faults'], fault: 'add hang' });
  });

  it.each([
    [['--without', 'luck'], 'there is no guard luck'],
    [['--seed', '-1'], '--seed'],
    [['--seed', '1e3'], '--seed must be a whole number'],
    [['--minutes', '601'], '--minutes must be a number up to 600'],
    [['--only', 'prayer'], '--only must be model or faults or mix'],
    [['--replay', 'model'], '--replay must be a whole number'],
    [['--replay', 'faults:3'], '--replay must be model or mix'],
    [['--seeds', '0'], '--seeds must be at least 1'],
    [['--only', 'mix', '--fault', 'add hang'], '--only mix plays none'],
    [['--without', 'gate', '--fault', 'add hang'], '--without plays the model'],
    [['--without', 'gate', '--replay', 'mix:9'], '--without takes guards from the model alone'],
    [['--half', '2'], '--half is of the faults of --short'],
    [['--short', '--half', '3'], '--half must be 1 or 2'],
    [['--fast'], '--fast'],
    [['short'], 'short'],
  ])('refuses %j in words', (args, words) => {
    expect(() => readArguments(args)).toThrow(BadArguments);
    expect(() => readArguments(args)).toThrow(words);
  });
});

it('is refused where no fault has the words that were asked for', async () => {
  const report = new Report(() => undefined);
  const proving = proveFaults(report, { short: false, half: 1, fault: 'submit hnag' });
  await expect(proving).rejects.toThrow(BadArguments);
});

describe('the rule of the exit', () => {
  const nothing = { paidTwice: false, paidUnapproved: false, silent: false, stuck: false, attention: false };

  it('forgives a double payment outside the assumptions only, and only when somebody is told', () => {
    expect(breaks({ ...nothing, paidTwice: true, attention: true }, 'outside')).toBe(false);
    expect(breaks({ ...nothing, paidTwice: true, attention: true }, 'inside')).toBe(true);
    expect(breaks({ ...nothing, paidTwice: true, silent: true }, 'outside')).toBe(true);
  });

  it.each(['silent', 'stuck'] as const)('never forgives that a run is %s', (what) => {
    for (const assumptions of ['inside', 'outside'] as const)
      expect(breaks({ ...nothing, [what]: true }, assumptions)).toBe(true);
    expect(wordsOf({ ...nothing, [what]: true })).toBe(what);
  });

  it('counts each finding, and keeps the slowest recovery', () => {
    const line = new Line('a fault', 'inside');
    for (const recoveryS of [1, 7, 2]) line.add({ ...nothing, attention: true, recoveryS });
    expect(line).toMatchObject({ runs: 3, attention: 3, paidTwice: 0, slowestS: 7 });
  });
});
