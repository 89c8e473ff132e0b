import { Injectable } from '@nestjs/common';
import { Clock } from '../config/clock';
import { Database } from '../database/database';
import { EmployerRole } from '../http/allow';
import { hashOfKey } from './api-key';

/** Whom a key belongs to, and every role of that person by employer. */
export interface KeyHolder {
  readonly personId: string;
  readonly name: string;
  readonly administrator: boolean;
  readonly rolesAt: ReadonlyMap<string, ReadonlySet<EmployerRole>>;
}

interface Row {
  id: string;
  name: string;
  administrator: boolean;
  employer_id: string | null;
  role: EmployerRole | null;
}

/** Looks keys up for each request anew: a revoked key, role or person counts from the next request on, everywhere. */
@Injectable()
export class KeyHolders {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** @returns undefined when the key is unknown, expired or revoked, or its person disabled. */
  async holderOf(key: string): Promise<KeyHolder | undefined> {
    const rows = await this.database.outsideEmployers((tx) =>
      tx.query<Row>(
        `SELECT p.id, p.name, p.administrator, r.employer_id, r.role
         FROM api_key k JOIN person p ON p.id = k.person_id LEFT JOIN person_role r ON r.person_id = p.id
         WHERE k.key_hash = $1 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > $2)
           AND p.disabled_at IS NULL`,
        [hashOfKey(key), this.clock.now()],
      ),
    );
    const [first] = rows;
    if (first === undefined) return undefined;
    const { id: personId, name, administrator } = first;
    return { personId, name, administrator, rolesAt: rolesByEmployer(rows) };
  }
}

function rolesByEmployer(rows: readonly Row[]): Map<string, Set<EmployerRole>> {
  const byEmployer = new Map<string, Set<EmployerRole>>();
  for (const { employer_id: employerId, role } of rows) {
    if (employerId === null || role === null) continue;
    const roles = byEmployer.get(employerId) ?? new Set();
    byEmployer.set(employerId, roles.add(role));
  }
  return byEmployer;
}
