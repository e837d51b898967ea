/** Keeps retired words out of every name that a user sees: metrics, labels, API fields, options, keys, and tables. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { ALERT_GROUPS, RECORDING_GROUPS } from '../deploy/prometheus/groups.ts';
import { GUARDS } from '#automate/guardrails/index.ts';
import { ACTION_OUTCOMES } from '#automate/ledger/intents.ts';
import { policySettings } from '#automate/policies/settings.ts';
import { allKeys } from '#config/schema-walk.ts';
import { configSettings } from '#config/settings.ts';
import { ACTION_TYPES, POLICY_MODES, RUN_OUTCOMES, TRIGGER_KINDS } from '#foundation/domain/plan.ts';
import { METRIC_NAMES, labelNamesOf } from '#observe/catalog/catalog.ts';
import { STORED_STATES } from '#automate/ledger/plans.ts';
import { COMMANDS } from '#cli/index.ts';
import { MIGRATIONS } from '#storage/schema.ts';

const ROOT = join(import.meta.dirname, '..');

/** Words that the glossary replaced, in lower case with spaces. */
const RETIRED = [
  'acked',
  'came back',
  'come back',
  'resolved done',
  'resolved not done',
  'undecidable',
  'worth',
  'notice',
  'notices',
  'standing',
  'stands',
  'letter',
  'letters',
  'echo check',
  'echo checked',
  'books',
  'more than asked',
  'foreign actor',
  'complete read',
  'sanity',
  'elsewhere',
  'given up',
  'give up',
  'not understood',
  'refused value',
  'refused values',
  'refused entries',
  'fold',
  'folds',
  'folded',
  'door',
  'doors',
  'verb',
  'verbs',
  'harness',
  'waiting',
] as const;

/** Words that are retired as a whole value only: as a part of a name they are common English. */
const RETIRED_VALUES = ['nothing', 'shown', 'used', 'present', 'error'] as const;

/** Names of today in which a retired word is another one. */
const FINE: readonly RegExp[] = [
  // A dead letter is the glossary's own term; a newsletter is a word of an example.
  /dead letters?|newsletters?/g,
];

/** Splits a name of any style into lower-case words: `opsd_aB-c` to `opsd a b c`. */
function wordsOf(name: string): string {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/[^A-Za-z0-9]+/g, ' ')
    .trim()
    .toLowerCase();
}

function retiredIn(names: readonly string[]): string[] {
  return names.filter((name) => {
    const words = FINE.reduce((text, fine) => text.replaceAll(fine, ''), wordsOf(name));
    return RETIRED.some((retired) => ` ${words} `.includes(` ${retired} `));
  });
}

function filesOf(...folders: readonly string[]): string[] {
  return folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder))
      .filter((file) => file.endsWith('.ts'))
      .map((file) => readFileSync(join(ROOT, folder, file), 'utf8')),
  );
}

/** Field names, and texts of unions and literal lists, in TypeScript sources. Comments and templates are left out. */
function namesIn(sources: readonly string[]): string[] {
  return sources.flatMap((source) => {
    const code = source.replaceAll(/\/\*.*?\*\/|\/\/[^\n]*|`[^`]*`/gs, '');
    const fields = [...code.matchAll(/\breadonly (\w+)\??:/g)].map((match) => match[1]!);
    const values = [...code.matchAll(/'([\w.-]+)'/g)].map((match) => match[1]!);
    return [...fields, ...values];
  });
}

function columnsOf(steps: readonly string[]): string[] {
  using db = new DatabaseSync(':memory:');
  for (const step of steps) db.exec(step);
  const objects = db.prepare(`SELECT type, name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'`).all();
  return objects.flatMap(({ type, name }) => [
    String(name),
    ...(type === 'table'
      ? db
          .prepare('SELECT name FROM pragma_table_info(?)')
          .all(String(name))
          .map((column) => String(column['name']))
      : []),
  ]);
}

interface JsonSchema {
  readonly [key: string]: unknown;
}

/** All keys of `properties`, and all values of `enum` and `const`. */
function namesOfSchema(schema: unknown): string[] {
  if (Array.isArray(schema)) return schema.flatMap(namesOfSchema);
  if (typeof schema !== 'object' || schema === null) return [];
  return Object.entries(schema as JsonSchema).flatMap(([key, value]) => {
    if (key === 'properties')
      return [...Object.keys(value as object), ...namesOfSchema(Object.values(value as object))];
    if (key === 'enum' || key === 'const') return [value].flat().map(String);
    return namesOfSchema(value);
  });
}

const LOADED = await Promise.all(COMMANDS.map((command) => command.load()));

const SOURCES: Readonly<Record<string, () => readonly string[]>> = {
  'metrics and their labels': () => METRIC_NAMES.flatMap((name) => [name, ...labelNamesOf(name)]),
  guards: () => GUARDS.flatMap(({ name, stage }) => [name, stage]),
  'outcomes, states, modes, and triggers': () =>
    [ACTION_OUTCOMES, RUN_OUTCOMES, STORED_STATES, POLICY_MODES, TRIGGER_KINDS, ACTION_TYPES].flat(),
  'label values that metrics set': () => namesIn(filesOf('src/observe/metrics', 'src/observe/aggregation')),
  'fields, states, and codes of the API': () =>
    namesIn(filesOf('src/operate/api', 'src/operate/http', 'src/automate/ledger', 'src/foundation/domain')),
  'names and fields of events in the log': () => namesIn(filesOf('src/foundation/events')),
  'commands and options': () => LOADED.flatMap(({ name, options }) => [name, ...Object.keys(options)]),
  'configuration keys and policy keys': () => [
    ...[...allKeys(configSettings), ...allKeys(policySettings)].map(({ key }) => key),
    ...namesOfSchema(JSON.parse(readFileSync(join(ROOT, 'config.schema.json'), 'utf8'))),
  ],
  'steps and facts of policy tests': () =>
    namesIn([readFileSync(join(ROOT, 'src/automate/policytest/settings.ts'), 'utf8')]),
  'tables, columns, and indexes of the store': () => columnsOf(MIGRATIONS),
  'alerts and recording rules': () =>
    [...ALERT_GROUPS, ...RECORDING_GROUPS].flatMap(({ rules }) =>
      rules.map((rule) => ('alert' in rule ? rule.alert : rule.record)),
    ),
};

describe.each(Object.entries(SOURCES))('%s', (_what, read) => {
  test('are found', () => {
    expect(read().length).toBeGreaterThan(10);
  });

  test('have no retired word', () => {
    expect([...new Set(retiredIn(read()))]).toEqual([]);
  });
});

test('no outcome and no state is a retired value', () => {
  const values: readonly string[] = [...ACTION_OUTCOMES, ...RUN_OUTCOMES, ...STORED_STATES];
  expect(values.filter((value) => RETIRED_VALUES.some((retired) => retired === value))).toEqual([]);
});

test.each(RETIRED)('%s is found in names of every style', (retired) => {
  const snake = retired.replaceAll(' ', '_');
  const camel = retired.replaceAll(/ (\w)/g, (_all, first: string) => first.toUpperCase());
  const names = [
    `opsd_${snake}_total`,
    snake,
    `${snake.replaceAll('_', '-')}-file`,
    `max${camel[0]!.toUpperCase()}${camel.slice(1)}`,
    `Opsd.${camel}`,
  ];
  expect(retiredIn(names)).toEqual(names);
  expect(retiredIn([`opsd_${snake}x_total`, `x${snake}`])).toEqual([]);
});
