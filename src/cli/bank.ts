import { optionsFromEnvironment } from '../bank-sandbox/main';
import { DEFAULT_TOKEN, DEFAULT_WEBHOOK_SECRET, startSandbox } from '../bank-sandbox/sandbox';
import { CommandContext } from './database';
import { Interrupted, onStage } from './stage';

const DEFAULT_PORT = 3001;

/** Runs the sandbox bank alone until a signal, by the `SANDBOX_*` settings; says how to talk to it. */
export async function bank(context: CommandContext): Promise<void> {
  const options = optionsFromEnvironment(context.env);
  try {
    await onStage(async (stage) => {
      const sandbox = startSandbox({ ...options, port: options.port ?? DEFAULT_PORT });
      const { url } = await stage.own(sandbox.then((one) => ({ url: one.url, stop: () => one.close() })));
      const token = options.tokens?.[0]?.token ?? DEFAULT_TOKEN;
      const secret = options.webhookSecret ?? DEFAULT_WEBHOOK_SECRET;
      banner(url, token, secret, options.stateFile).forEach(context.print);
      await stage.closing;
    });
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error;
  }
}

function banner(url: string, token: string, secret: string, stateFile: string | undefined): string[] {
  return [
    `The sandbox bank is at ${url}. No money is real.`,
    '',
    `  access token      ${token}`,
    `  webhooks          signed with ${secret}`,
    `  state             ${stateFile ?? 'in memory only; SANDBOX_STATE_FILE keeps it'}`,
    '',
    'What no bank offers, without a token:',
    '',
    '  GET  /sandbox/portal/accounts     accounts and balances as their holders see them',
    '  GET  /sandbox/ledger              who was really paid, how often and from what',
    '  GET  /sandbox/magic-creditors     creditors that make a payment fail, each in its way',
    '  POST /sandbox/clock               {"advanceMs":…}, {"date":…} or {"now":…}',
    '  POST /sandbox/faults              lose, delay or damage answers',
    '  POST /sandbox/incoming-payments   {"iban":…,"amountMinor":…}',
    '  POST /sandbox/postings            {"accountId":…,"type":"FEE","amountMinor":…}',
    '  POST /sandbox/accounts/…/block    or unblock; /sandbox/identities/… alike',
    '  POST /sandbox/instructions/…/release or refuse, where a submit waits for a person',
    '',
    'Try it:',
    '',
    `  curl -sS -H 'Authorization: Bearer ${token}' ${url}/api/distributor/v1/accounts`,
    '',
    'Ctrl-C stops it.',
  ];
}
