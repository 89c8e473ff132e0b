import { EventEmitter } from 'node:events';
import { Request, Response } from 'express';
import { storage, Store } from 'nestjs-pino/storage';
import { pino } from 'pino';
import { endLogContexts } from '../../src/http/log-context';

/** A request under way: `goesOn` lets its work go on, and answers with the log context that work then has. */
function request() {
  const response = new EventEmitter();
  let goOn: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (goOn = resolve));
  let context: Promise<Store | undefined> = Promise.resolve(undefined);
  endLogContexts({} as Request, response as unknown as Response, () => {
    storage.run(new Store(pino({ enabled: false })), () => {
      context = gate.then(() => storage.getStore());
    });
  });
  return {
    goesOn: () => {
      goOn();
      return context;
    },
    closes: () => response.emit('close'),
  };
}

it('keeps the log context of a request while any request is under way', async () => {
  const [first, second] = [request(), request()];
  first.closes();
  expect(await second.goesOn()).toBeInstanceOf(Store);
  second.closes();
});

it('ends every log context with the last request, and begins anew with the next', async () => {
  const [first, second] = [request(), request()];
  first.closes();
  second.closes();
  expect(await second.goesOn()).toBeUndefined();
  const third = request();
  expect(await third.goesOn()).toBeInstanceOf(Store);
  third.closes();
});
