import { PATHS } from '../../bank/types';
import { pathPattern, type Route } from '../http/exchange';
import { answerOf, pageOf } from '../http/paging';
import { type BankRoutes, wholeNumberParam } from './routes';

/** Section "Products and accounts". */
export function productAndAccountRoutes({ bank, requests, views, variants }: BankRoutes): Route[] {
  const { accounts } = bank;
  return [
    {
      operation: 'listProducts',
      method: 'GET',
      path: pathPattern(PATHS.products()),
      scopes: ['account_view'],
      handle: ({ query }) => {
        const { products } = accounts.seed;
        const list = { sort: '+id', params: 'offset', areShown: false } as const;
        return answerOf(pageOf(products, products.length, query, list, variants), variants);
      },
    },
    {
      operation: 'createAccount',
      method: 'POST',
      path: pathPattern(PATHS.userAccounts(':id')),
      scopes: ['account_creation'],
      handle: ({ params, body }) => {
        const { productId } = requests.accountCreation(body);
        const account = bank.execute('openAccount', { userId: wholeNumberParam(params[0]), productId });
        return { status: 201, body: views.account(account, false) };
      },
    },
    {
      operation: 'getAccount',
      method: 'GET',
      path: pathPattern(PATHS.account(':id')),
      scopes: ['account_view'],
      handle: ({ params }) => ({
        status: 200,
        body: views.account(accounts.account(params[0] ?? ''), true),
      }),
    },
    {
      operation: 'listAccounts',
      method: 'GET',
      path: pathPattern(PATHS.accounts()),
      scopes: ['account_view'],
      handle: ({ query }) => {
        const list = { sort: '+ids', params: 'offset', areShown: false } as const;
        const page = pageOf(accounts.all, accounts.all.length, query, list, variants);
        const items = page.items.map((account) => views.account(account, true));
        return answerOf({ ...page, items }, variants);
      },
    },
    {
      operation: 'closeAccount',
      method: 'DELETE',
      path: pathPattern(PATHS.account(':id')),
      scopes: ['account_close'],
      handle: ({ params }) => {
        const account = bank.execute('closeAccount', { accountId: params[0] ?? '' });
        return { status: 200, body: views.account(account, true) };
      },
    },
    {
      operation: 'closeUser',
      method: 'DELETE',
      path: pathPattern(PATHS.user(':id')),
      scopes: ['user_deactivate'],
      handle: ({ params }) => {
        const userId = wholeNumberParam(params[0]);
        bank.execute('closeUser', { userId });
        return { status: 200, body: { userId, status: 'CLOSED' } };
      },
    },
  ];
}
