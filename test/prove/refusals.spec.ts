import { ModelBank } from '../../prove/model/bank';
import { Random } from '../../prove/model/random';
import { drawWorld } from '../../prove/model/world';
import { listening, Proxy } from '../../prove/real/proxy';
import { refusedAfterAll } from '../../prove/real/trial';
import { PATHS } from '../../src/bank/types';

const REFUSALS = [401, 403, 422, 429];
/** A refusal on purpose is one of some hundred answers. */
const TIMES = 3_000;
type Answer = { kind: string; status?: number };
const SENT = { messageId: 'm', amountMinor: 1n, iban: 'E0' };

describe('what the bank of the model refuses', () => {
  const bank = () => {
    const random = new Random(1);
    return new ModelBank(random, { ...drawWorld(random, undefined), outside: undefined, faultRate: 1 });
  };
  const open = (one: ModelBank) => {
    const instruction = {
      id: 'c',
      createdMs: 0,
      submittedMs: undefined,
      deletedMs: undefined,
      payments: [],
    };
    one.instructions.set('c', instruction);
  };
  const CALLS: Record<string, (one: ModelBank) => { answer: Answer; done: boolean }> = {
    initiate: (one) => {
      one.instructions.clear();
      const answer = one.initiate();
      return { answer, done: one.instructions.size > 0 };
    },
    add: (one) => {
      open(one);
      const answer = one.add('c', SENT);
      return { answer, done: one.instructions.get('c')!.payments.length > 0 };
    },
    submit: (one) => {
      open(one);
      const answer = one.submit('c');
      return { answer, done: one.instructions.get('c')!.submittedMs !== undefined };
    },
  };

  it.each(Object.keys(CALLS))('may have been executed, with each status: %s', (call) => {
    const one = bank();
    const seen = new Set<string>();
    for (let time = 0; time < TIMES; time += 1) {
      const { answer, done } = CALLS[call]!(one);
      if (answer.kind === 'no' && answer.status !== undefined) seen.add(`${answer.status} ${done}`);
    }
    expect([...seen].sort()).toEqual(REFUSALS.flatMap((status) => [`${status} false`, `${status} true`]));
  });
});

describe('what the network answers with a refusal', () => {
  it('was executed by the bank, and what the bank refuses itself is handed on', async () => {
    const { server, url } = await listening();
    let answers = 0;
    server.on('request', (_message, response) =>
      response.writeHead((answers += 1) === 1 ? 500 : 201).end('{}'),
    );
    const proxy = await Proxy.start(url);
    proxy.meddle = refusedAfterAll('submit', 429);
    const submit = () => fetch(proxy.url + PATHS.submit('7'), { method: 'POST' });
    const told = [await submit(), await submit(), await submit()];
    expect(told.map(({ status, headers }) => [status, headers.get('retry-after')])).toEqual([
      [500, null],
      [429, '1'],
      [201, null],
    ]);
    expect(proxy.posts.map(({ status }) => status)).toEqual([500, 429, 201]);
    expect(proxy.missed).toBe(false);
    await proxy.stop();
    server.close();
  });
});
