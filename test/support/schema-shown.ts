import { select } from './database';

interface Part {
  readonly name: string;
  readonly sql: string;
}

/** Every table with all that hangs on it; the parts of one by month come and go, and are no part of the schema. */
const TABLES = `
  SELECT c.relname AS name, concat_ws(E'\\n',
    'CREATE ' || CASE c.relpersistence WHEN 'u' THEN 'UNLOGGED ' ELSE '' END || 'TABLE ' || c.relname || ' (' || E'\\n' || (
      SELECT string_agg('  ' || line, E',\\n' ORDER BY rank, at, line) FROM (
        SELECT 1 AS rank, a.attnum AS at, concat_ws(' ', a.attname, format_type(a.atttypid, a.atttypmod),
          CASE WHEN a.attnotnull THEN 'NOT NULL' END,
          CASE a.attgenerated WHEN 's' THEN 'GENERATED ALWAYS AS (' || pg_get_expr(d.adbin, d.adrelid) || ') STORED'
            ELSE 'DEFAULT ' || pg_get_expr(d.adbin, d.adrelid) END,
          CASE WHEN a.attidentity <> '' THEN 'GENERATED ALWAYS AS IDENTITY' END) AS line
        FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        UNION ALL
        SELECT 2, 0, 'CONSTRAINT ' || conname || ' ' || pg_get_constraintdef(oid)
        FROM pg_constraint WHERE conrelid = c.oid AND contype IN ('p', 'u', 'f', 'c', 'x')
      ) lines) || E'\\n)' || coalesce(' PARTITION BY ' || pg_get_partkeydef(c.oid), '') || ';',
    (SELECT string_agg(pg_get_indexdef(i.indexrelid) || ';', E'\\n' ORDER BY i.indexrelid::regclass::text)
      FROM pg_index i WHERE i.indrelid = c.oid
        AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = i.indexrelid AND contype IN ('p', 'u', 'x'))),
    (SELECT string_agg(pg_get_triggerdef(t.oid) || ';', E'\\n' ORDER BY t.tgname)
      FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal),
    CASE WHEN c.relforcerowsecurity THEN 'ALTER TABLE ' || c.relname || ' FORCE ROW LEVEL SECURITY;' END,
    (SELECT string_agg(concat_ws(' ', 'CREATE POLICY', p.policyname, 'ON', p.tablename, 'FOR', p.cmd, 'TO',
        array_to_string(p.roles, ', '), 'USING (' || p.qual || ')', 'WITH CHECK (' || p.with_check || ')') || ';',
        E'\\n' ORDER BY p.policyname)
      FROM pg_policies p WHERE p.schemaname = 'public' AND p.tablename = c.relname),
    (SELECT string_agg('GRANT ' || may || ' ON ' || c.relname || ' TO ' || grantee || ';', E'\\n' ORDER BY grantee, may) FROM (
        SELECT grantee, string_agg(privilege_type, ', ' ORDER BY privilege_type) AS may
        FROM information_schema.role_table_grants
        WHERE table_schema = 'public' AND table_name = c.relname AND grantee LIKE 'payrun_%' AND grantee <> 'payrun_owner'
        GROUP BY grantee
        UNION ALL
        SELECT g.grantee, g.privilege_type || ' (' || string_agg(g.column_name, ', ' ORDER BY g.column_name) || ')'
        FROM information_schema.column_privileges g
        WHERE g.table_schema = 'public' AND g.table_name = c.relname
          AND g.grantee LIKE 'payrun_%' AND g.grantee <> 'payrun_owner'
          AND NOT EXISTS (SELECT FROM information_schema.role_table_grants w WHERE w.table_schema = 'public'
            AND w.table_name = c.relname AND w.grantee = g.grantee AND w.privilege_type = g.privilege_type)
        GROUP BY g.grantee, g.privilege_type) grants)) AS sql
  FROM pg_class c
  WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relname <> 'migrations'
  ORDER BY c.relname`;

const FUNCTIONS = `
  SELECT proname AS name, rtrim(pg_get_functiondef(oid), E'\\n ') || ';' AS sql
  FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY proname, pg_get_function_identity_arguments(oid)`;

const HEAD = `-- What stands in the database after every migration of this folder, read from its catalogs: the tables with their
-- constraints, indexes, triggers, policies and grants, then the functions. It is here to be read, and nothing runs it:
-- \`UPDATE_SCHEMA=1 npx jest test/database/schema.spec.ts\` writes it after a new migration.
`;

/** The schema \`public\` of the migrated database at `superuserUrl` as one text of SQL, the same on every run. */
export async function schemaShown(superuserUrl: string): Promise<string> {
  const tables = await select<Part>(superuserUrl, TABLES);
  const functions = await select<Part>(superuserUrl, FUNCTIONS);
  const shown = [...tables, ...functions].map(({ sql }) => `\n${sql}\n`).join('');
  return `${HEAD}${shown.replace(/[ \t]+$/gm, '')}`;
}
