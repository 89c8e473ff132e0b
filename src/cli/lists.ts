import { Person } from '../identity/person.entity';
import { KnownKey } from '../identity/people.service';
import { table } from './terminal';

/** People as the lines of a table; times are UTC. */
export function linesOfPeople(people: readonly Person[]): string {
  const rows = people.map(({ id, name, administrator, disabledAt }) => [
    id,
    name,
    administrator ? 'yes' : 'no',
    timeOf(disabledAt),
  ]);
  return table(['Person', 'Name', 'Administrator', 'Disabled'], rows).join('\n');
}

/** Keys as the lines of a table; times are UTC. */
export function linesOfKeys(keys: readonly KnownKey[]): string {
  const rows = keys.map(({ id, createdAt, expiresAt, revokedAt, label }) => [
    id,
    timeOf(createdAt),
    timeOf(expiresAt),
    timeOf(revokedAt),
    label,
  ]);
  return table(['Key', 'Made', 'Expires', 'Revoked', 'Label'], rows).join('\n');
}

function timeOf(time: Date | null): string {
  return time === null ? '-' : time.toISOString();
}
