import { STATUS_CODES } from 'node:http';

/** What a problem carries besides its status, code and detail; `errors` point at the faulty fields. */
export interface ProblemExtra {
  readonly errors?: readonly unknown[];
  readonly [member: string]: unknown;
}

/**
 * An answer that is not a success, told to the client as RFC 9457 problem details. `code` is stable and for
 * programs, `detail` is one sentence for people; neither holds a name, IBAN or amount of a person.
 */
export class Problem extends Error {
  override readonly name = 'Problem';

  constructor(
    readonly status: number,
    readonly code: string,
    readonly detail: string,
    readonly extra: ProblemExtra = {},
    options?: ErrorOptions,
  ) {
    super(`${code}: ${detail}`, options);
  }

  /** The body of the answer. `instance` is the path asked for, without its query. */
  toBody(instance: string, requestId: string): Record<string, unknown> {
    return {
      ...this.extra,
      type: 'about:blank',
      title: STATUS_CODES[this.status] ?? 'Unknown',
      status: this.status,
      code: this.code,
      detail: this.detail,
      instance,
      requestId,
    };
  }
}
