import { Injectable } from '@nestjs/common';
import { Database, Transaction } from './database';

/** The bank's lists of payments: the general one, of all accounts, and that of one instruction. */
export type BankList = 'PAYMENTS' | 'INSTRUCTION_PAYMENTS';

/** A list as it was last read: its rows, and those of a full page where that was seen. */
export interface ListSeen {
  readonly rows: number;
  readonly pageRows?: number;
  /** Whether it lacks payments of an instruction that another read shows. */
  readonly lacksSome?: true;
}

/** What the general list held is believed for as long as what it is read for: a day. */
const BELIEVED_FOR = `interval '1 day'`;

/** A list that lacked some is believed to until the next payroll, of a month later, too. */
const LACKS_FOR = `interval '40 days'`;

/** How long the bank's lists are, as the last replica to read them saw it: that decides what a reading costs. */
@Injectable()
export class BankLists {
  constructor(private readonly database: Database) {}

  /** Writes down what a reading showed; a page size that was not seen this time stands. */
  async remember(list: BankList, { rows, pageRows }: ListSeen): Promise<void> {
    await this.database.outsideEmployers((tx) =>
      tx.query(
        `INSERT INTO bank_list (list, row_count, page_rows) VALUES ($1, $2, $3)
         ON CONFLICT (list) DO UPDATE SET row_count = excluded.row_count,
           page_rows = coalesce(excluded.page_rows, bank_list.page_rows), read_at = clock_timestamp()`,
        [list, rows, pageRows ?? null],
      ),
    );
  }

  /** Writes down that the list lacked payments of an instruction that another read showed. */
  rememberLacking(list: BankList): Promise<void> {
    return this.note(list, 'lacked_at');
  }

  /** Writes down that the general list showed a payment of ours that was not submitted. */
  rememberUnsubmitted(): Promise<void> {
    return this.note('PAYMENTS', 'unsubmitted_shown_at');
  }

  private async note(list: BankList, what: 'lacked_at' | 'unsubmitted_shown_at'): Promise<void> {
    await this.database.outsideEmployers((tx) =>
      tx.query(
        `INSERT INTO bank_list (list, row_count, ${what}) VALUES ($1, 0, clock_timestamp())
         ON CONFLICT (list) DO UPDATE SET ${what} = excluded.${what}`,
        [list],
      ),
    );
  }

  /** Whether the general list was seen to show what is not submitted within so many days. */
  async showsUnsubmitted(withinDays: number): Promise<boolean> {
    const found = await this.database.outsideEmployers((tx) =>
      tx.query(
        `SELECT FROM bank_list WHERE list = 'PAYMENTS'
           AND unsubmitted_shown_at > clock_timestamp() - make_interval(days => $1)`,
        [withinDays],
      ),
    );
    return found.length > 0;
  }
}

/** A list as it was last seen: no rows where that is longer ago than a day. */
export async function lastSeen(tx: Transaction, list: BankList): Promise<ListSeen> {
  const [row] = await tx.query<{ rows: number; page_rows: number | null; lacks: boolean | null }>(
    `SELECT CASE WHEN read_at > clock_timestamp() - ${BELIEVED_FOR} THEN row_count ELSE 0 END AS rows, page_rows,
       lacked_at > clock_timestamp() - ${LACKS_FOR} AS lacks
     FROM bank_list WHERE list = $1`,
    [list],
  );
  return {
    rows: row?.rows ?? 0,
    pageRows: row?.page_rows ?? undefined,
    ...(row?.lacks && { lacksSome: true }),
  };
}
