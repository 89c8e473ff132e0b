import { Injectable, PipeTransform } from '@nestjs/common';
import { z } from 'zod';
import { Problem } from './problem';

/** What each prefix of an id stands for. */
const KINDS = {
  run: 'pay run',
  pay: 'payment',
  ins: 'instruction',
  emp: 'employer',
  acc: 'account',
  file: 'pay file',
  prf: 'pay file profile',
  rfl: 'refused file',
  att: 'attention',
  act: 'action',
  per: 'person',
  key: 'api key',
  sch: 'schedule',
  amd: 'amendment',
  apr: 'approval',
} as const;

export type IdPrefix = keyof typeof KINDS;

const UUID_PARTS = /^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/;

/** An id as the outside sees it: `run_` and the UUID's 32 hexadecimal digits. */
export function showId(prefix: IdPrefix, uuid: string): string {
  return `${prefix}_${uuid.replaceAll('-', '')}`;
}

/** The UUID in an id. @throws Problem 404, as for an id that nothing has, when it is not one of this kind. */
export function readId(prefix: IdPrefix, text: string): string {
  const uuid = uuidIn(prefix, text);
  if (uuid === undefined) throw notFound(prefix);
  return uuid;
}

/** The answer for something that is not there, or that the caller may not know of: 404, such as `PAY_RUN_NOT_FOUND`. */
export function notFound(prefix: IdPrefix): Problem {
  const kind = KINDS[prefix];
  return new Problem(
    404,
    `${kind.toUpperCase().replaceAll(' ', '_')}_NOT_FOUND`,
    `There is no such ${kind}.`,
  );
}

/** Reads an id of a route: `@Param('runId', new IdParam('run')) runId: string`. */
@Injectable()
export class IdParam implements PipeTransform<string, string> {
  constructor(private readonly prefix: IdPrefix) {}

  transform(text: string): string {
    return readId(this.prefix, text);
  }
}

/** An id in a body or query, read as its UUID; a malformed one is a fault of its field. */
export function idField(prefix: IdPrefix) {
  return z
    .string()
    .regex(
      new RegExp(`^${prefix}_[0-9a-f]{32}$`),
      `must be an id such as ${prefix}_ and 32 hexadecimal digits`,
    )
    .transform((text) => readId(prefix, text));
}

function uuidIn(prefix: IdPrefix, text: string): string | undefined {
  if (!text.startsWith(`${prefix}_`)) return undefined;
  const parts = UUID_PARTS.exec(text.slice(prefix.length + 1));
  return parts?.slice(1).join('-');
}
