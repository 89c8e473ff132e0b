import axios from 'axios';

const OPTIONS = { timeout: 10_000, maxRedirects: 0, proxy: false } as const;

/** An account as its holder sees it in the bank's own portal. Amounts in euro, such as `1234.56`. */
export interface PortalAccount {
  readonly accountId: string;
  readonly identityId: number;
  readonly holderName: string;
  readonly balance: string;
}

/** What a person reads and does in the portal of the sandbox bank; a real bank's portal has no address here. */
export class Portal {
  constructor(private readonly bankUrl: string) {}

  /** @throws Error when the bank has no account of that holder */
  async accountOf(holderName: string): Promise<PortalAccount> {
    const { data } = await axios.get<PortalAccount[]>(`${this.bankUrl}/sandbox/portal/accounts`, OPTIONS);
    const account = data.find((one) => one.holderName === holderName);
    if (account === undefined) throw new Error(`The sandbox bank has no account of ${holderName}.`);
    return account;
  }

  /** The calendar date at the bank. */
  async date(): Promise<string> {
    return (await axios.get<{ date: string }>(`${this.bankUrl}/sandbox/clock`, OPTIONS)).data.date;
  }

  /** Lets the bank's time pass to the beginning of a later date. */
  async passTo(date: string): Promise<void> {
    await axios.post(`${this.bankUrl}/sandbox/clock`, { date }, OPTIONS);
  }
}
