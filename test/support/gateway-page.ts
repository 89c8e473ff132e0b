import { BankHttp } from '../../src/bank/http';

/** What a gateway before the bank answers by itself: a page in UTF-16, of which every other byte is U+0000. */
const PAGE = Buffer.from('<html><h1>Out of order</h1></html>', 'utf16le').toString();

/** Answers some calls with a gateway's page in the bank's stead, until it is restored. */
export function gatewayPage(method: string, path: RegExp, status: number): jest.SpyInstance {
  const { send } = BankHttp.prototype;
  return jest.spyOn(BankHttp.prototype, 'send').mockImplementation(function (this: BankHttp, request) {
    if (request.method !== method || !path.test(request.url)) return send.call(this, request);
    return Promise.resolve({ kind: 'answer', status, header: () => undefined, text: PAGE });
  });
}
