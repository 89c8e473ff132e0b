import { createHash } from 'node:crypto';

/** An attention is about a UUID: this one (version 8, RFC 9562) stands for a name. */
export function namedSubject(name: string): string {
  const hex = createHash('sha256').update(name).digest('hex');
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}

/** What stands for the payments of an instruction that had one end, and show one undocumented status after it. */
export function subjectAfterEnd(instructionId: string, end: string, shownStatus: string): string {
  return namedSubject(`${instructionId} ${end} ${shownStatus}`);
}

/** The subject of what is asked about one instruction that a restored database has forgotten. */
export function subjectOfForgotten(bankInstructionId: string): string {
  return namedSubject(`forgotten ${bankInstructionId}`);
}
