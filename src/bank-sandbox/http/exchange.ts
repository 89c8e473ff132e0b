import type { Scope } from '../../bank/types';

/** A request of a client as a route sees it. */
export interface BankRequest {
  /** Path parameters in the order of the path. */
  params: string[];
  query: URLSearchParams;
  /** The parsed body, JSON or a form; undefined when there was none. */
  body: unknown;
  authorization?: string;
}

export interface Answer {
  status: number;
  /** Undefined: an answer without a body. */
  body?: unknown;
  headers?: Record<string, string>;
}

export interface Route {
  /** The name faults and call counts use. */
  operation: string;
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: RegExp;
  /** All of them are needed; undefined for the open routes (token endpoint, sandbox controls). */
  scopes?: readonly Scope[];
  /** A JSON body unless said otherwise. */
  takes?: 'form';
  handle: (request: BankRequest) => Answer | Promise<Answer>;
}

/** The pattern of a path in which each `:id` stands for one segment. */
export function pathPattern(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(':id', '([^/]+)')}$`);
}
