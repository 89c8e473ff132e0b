import { OneByOne } from '../../src/submission/one-by-one';

describe('the turns of instructions that are filled one row at a time', () => {
  const instruction = (id: string) => ({ id, payRunId: `run of ${id}` });
  const [a, b, c] = ['a', 'b', 'c'].map(instruction) as [Asks, Asks, Asks];
  type Asks = ReturnType<typeof instruction>;

  it('come in the order of asking, whoever asks next', () => {
    const turns = new OneByOne();
    expect(turns.ask(a, 0)).toBeUndefined();
    expect(turns.ask(b, 1_000)).toMatchObject(a);
    expect(turns.ask(c, 2_000)).toMatchObject(a);
    turns.leave(a);
    expect(turns.ask(c, 3_000)).toMatchObject(b);
    expect(turns.ask(a, 4_000)).toMatchObject(b);
    expect(turns.ask(b, 5_000)).toBeUndefined();
    turns.leave(b);
    expect(turns.ask(c, 6_000)).toBeUndefined();
  });

  it('are kept as long as filling takes, and pass over who waits and has not asked for 15 s', () => {
    const turns = new OneByOne();
    expect(turns.ask(a, 0)).toBeUndefined();
    turns.ask(b, 0);
    expect(turns.ask(c, 3_600_000)).toMatchObject(a);
    turns.leave(a);
    expect(turns.ask(c, 3_605_000)).toBeUndefined();
    expect(turns.ask(b, 3_606_000)).toMatchObject(c);
  });
});
