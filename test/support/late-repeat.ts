import axios from 'axios';
import { BankHttp, HttpRequest } from '../../src/bank/http';

/**
 * Keeps the first add that a service of this process sends from now on.
 * @returns what has the bank get it once more, as a network may deliver a request twice, the second time late
 */
export function lateRepeat(): () => Promise<void> {
  const { send } = BankHttp.prototype;
  let add: HttpRequest | undefined;
  const sending = jest.spyOn(BankHttp.prototype, 'send').mockImplementation(function (
    this: BankHttp,
    request,
  ) {
    if (request.method === 'POST' && request.url.endsWith('/payment-transactions')) add ??= request;
    return send.call(this, request);
  });
  return async () => {
    sending.mockRestore();
    await axios.post(add!.url, add!.body, { headers: add!.headers });
  };
}
