import { eventually } from '../../test/support/eventually';
import { statusOfRead } from './moment';
import type { Effect, Exchange } from './proxy';
import { DID_NOT_STRIKE, type Stand } from './stand';
import { callOf, instructionIn } from './calls';

const STRIKES_WITHIN_MS = 8_000;
/** What an instruction shows of its groups. */
const GROUPS = /("paymentTransactionsStatus":)\[[^\]]*\]/;

/** What reads of an instruction show while it has a status, the first so many times. */
export interface Shown {
  status: string;
  change: (body: string) => string;
  times: number;
}

/** Has the reads of one instruction show something else than it is, and remembers what was submitted meanwhile. */
export class WrongReads {
  private shown: string | undefined;
  private reads = 0;
  private readonly postsBefore: number;

  constructor(
    private readonly stand: Stand,
    private readonly as: Shown,
  ) {
    this.postsBefore = stand.proxy.posts.length;
    stand.proxy.meddle = (exchange) => this.effectOn(exchange);
  }

  /** @throws where nothing is shown wrongly in time */
  untilStruck(): Promise<void> {
    return eventually(
      () => this.reads > 0,
      STRIKES_WITHIN_MS,
      () => DID_NOT_STRIKE,
    );
  }

  /** Whether it was read once more at that status, and shown as it is. */
  get wereFollowedByRight(): boolean {
    return this.reads > this.as.times;
  }

  /** How many submits the service has sent since. */
  get submits(): number {
    return this.submitted.length;
  }

  /** Whether that which was shown wrongly was submitted. */
  get wasSubmitted(): boolean {
    return this.submitted.some((path) => instructionIn(path) === this.shown);
  }

  private get submitted(): string[] {
    const posts = this.stand.proxy.posts.slice(this.postsBefore);
    return posts.flatMap(({ method, path }) => (callOf(method, path) === 'submit' ? path : []));
  }

  private async effectOn({ method, path, status, body }: Exchange): Promise<Effect | undefined> {
    const call = callOf(method, path);
    // Totals that the answer to the submit has shown are not read before the end.
    if (call === 'submit' && this.as.status === 'SUBMITTED') return { body: body.replace(GROUPS, '$1[]') };
    if (call !== 'get' || status !== 200) return undefined;
    const named = instructionIn(path);
    if (this.shown !== undefined && named !== this.shown) return undefined;
    if ((await statusOfRead(this.stand, path)) !== this.as.status) return undefined;
    this.shown = named;
    this.reads += 1;
    return this.reads > this.as.times ? undefined : { body: this.as.change(body) };
  }
}
