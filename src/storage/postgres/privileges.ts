/** Privileges of the daemon's role on its tables. Otherwise, the first statement that needs one fails much later. */
import { all, type Work } from '../database.ts';
import { POSTGRES_MIGRATIONS } from './schema.ts';

/** Lacking privileges, with the statement that grants them. */
export interface MissingPrivileges {
  readonly text: string;
  readonly fix: string;
}

const TABLES = [
  'meta',
  ...POSTGRES_MIGRATIONS.flatMap((step) => [...step.matchAll(/CREATE TABLE (\w+)/g)].map(([, name]) => name!)),
];

/** Records of the audit log are never changed, so a role may lack the right to. */
const MISSING = `SELECT quote_ident(current_user) AS role, quote_ident(schemaname) AS schema, tablename AS table,
    string_agg(privilege, ', ' ORDER BY place) AS privileges
  FROM pg_tables
    CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) WITH ORDINALITY AS wanted (privilege, place)
  WHERE schemaname = current_schema() AND tablename IN (${TABLES.map((name) => `'${name}'`).join(', ')})
    AND NOT (tablename = 'audit' AND privilege IN ('UPDATE', 'DELETE'))
    AND NOT has_table_privilege(format('%I.%I', schemaname, tablename), privilege)
  GROUP BY schemaname, tablename ORDER BY tablename`;

/** Maximum number of tables that the text names. */
const MOST_NAMED = 3;

/** Returns what the role lacks on the tables that exist; undefined if it lacks nothing. */
export function* missingPrivileges(): Work<MissingPrivileges | undefined> {
  const rows = yield* all<Readonly<Record<'role' | 'schema' | 'table' | 'privileges', string>>>(MISSING);
  const [first] = rows;
  if (first === undefined) return undefined;
  const { role, schema } = first;
  const named = rows.slice(0, MOST_NAMED).map(({ table, privileges }) => `${privileges} on ${table}`);
  const more = rows.length > MOST_NAMED ? `, and privileges on ${rows.length - MOST_NAMED} more tables` : '';
  const grants =
    rows.length > MOST_NAMED
      ? [`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${role};`]
      : rows.map(({ table, privileges }) => `GRANT ${privileges} ON ${schema}.${table} TO ${role};`);
  return {
    text: `the role ${role} lacks ${named.join('; ')}${more}`,
    fix: `as the owner of the tables, run: ${grants.join(' ')}`,
  };
}

/** Returns the tables of the store that exist, without `meta`. */
export function* existingTables(): Work<readonly string[]> {
  const rows = yield* all(
    `SELECT tablename AS table FROM pg_tables WHERE schemaname = current_schema()
       AND tablename IN (${TABLES.map((name) => `'${name}'`).join(', ')}) ORDER BY tablename`,
  );
  return rows.map(({ table }) => String(table)).filter((table) => table !== 'meta');
}
