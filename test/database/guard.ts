/** Something of the schema that refuses a statement. */
export interface GuardObject {
  kind: 'trigger' | 'index' | 'constraint' | 'domain';
  /** The table, or the domain, it belongs to. */
  on: string;
  object: string;
}

/** A guard with a statement it refuses, and the nearest one it lets pass. */
export interface Guard extends GuardObject {
  /** What it prevents. */
  name: string;
  /** The constraint the error names, where that is not the object itself. */
  says?: string;
  /** Statements that come first. */
  given?: string[];
  lawful: string;
  forbidden: string;
  /** Other guards that refuse the same statement. */
  also?: GuardObject[];
}

/** The statement that takes a guard away. */
export function dropping({ kind, on, object }: GuardObject): string {
  switch (kind) {
    case 'trigger':
      return `DROP TRIGGER ${object} ON ${on}`;
    case 'index':
      return `DROP INDEX ${object}`;
    case 'constraint':
      return `ALTER TABLE ${on} DROP CONSTRAINT ${object} CASCADE`;
    case 'domain':
      return `ALTER DOMAIN ${on} DROP CONSTRAINT ${object}`;
  }
}

/** Statements that no trigger looks at. */
export function unguarded(...statements: string[]): string {
  return [
    'SET LOCAL session_replication_role = replica',
    ...statements,
    'SET LOCAL session_replication_role = origin',
  ].join('; ');
}

/** How the tests and the catalogue name it alike. */
export function keyOf({ on, object }: Pick<GuardObject, 'on' | 'object'>): string {
  return `${on}.${object}`;
}
