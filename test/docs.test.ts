/** What the documents say is compared with what the program does. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { COMMANDS } from '../src/cli/index.ts';
import { loadConfig, parseConfig } from '../src/config/load.ts';
import { catalogMarkdown } from '../src/exporters/catalog-text.ts';
import { METRIC_NAMES, specOf } from '../src/exporters/catalog.ts';
import { GUARDS } from '../src/guardrails/index.ts';
import { ENTRY_FIELDS } from '../src/policies/entry-facts.ts';
import { policySettings } from '../src/policies/settings.ts';
import { RECORDS } from './emulator/interface-names.ts';

const ROOT = join(import.meta.dirname, '..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** The code blocks of one language, in order. */
function blocks(text: string, language: string): string[] {
  return [...text.matchAll(/```(\w*)\n(.*?)```/gs)].filter((match) => match[1] === language).map((match) => match[2]!);
}

/** First cells of the tables' rows that are one piece of code. */
function firstCells(text: string): string[] {
  return [...text.matchAll(/^\| ((?:`[^`|]+`(?:, )?)+) \|/gm)].flatMap((match) =>
    match[1]!.replaceAll('`', '').split(', '),
  );
}

test('docs/metrics.md is what the catalogue says', () => {
  expect(read('docs/metrics.md')).toBe(catalogMarkdown());
});

test('every metric that a document names exists', () => {
  for (const file of [
    'README.md',
    'docs/policies.md',
    'docs/ARCHITECTURE.md',
    'docs/emulator.md',
    'docs/telemetry.md',
  ]) {
    const named =
      read(file).match(/\b(?:opsd|msgsvc)_[a-z_]+(?:_total|_seconds|_bytes|_info|_runs|_messages)\b/g) ?? [];
    expect(
      named.filter((name) => !METRIC_NAMES.includes(name as (typeof METRIC_NAMES)[number])),
      file,
    ).toEqual([]);
  }
});

test('every field of the records that the service answers with is in a metric, or has a line that says why not', () => {
  const telemetry = read('docs/telemetry.md');
  const from = telemetry.indexOf('## Fields of the service that have no metric');
  const why = telemetry.slice(from, telemetry.indexOf('\n## ', from));
  const named = (field: string): RegExp => new RegExp(`(?<![\\w])${field}(?![\\w])`);
  const sources = METRIC_NAMES.map((name) => specOf(name).source).join('; ');
  const silent = Object.entries(RECORDS)
    .filter(([record]) => record.startsWith('2.') && record !== '2.7.account')
    .flatMap(([record, fields]) => Object.keys(fields).map((field) => ({ record, field })))
    .filter(({ field }) => !named(field).test(sources) && !why.includes(`\`${field}\``));
  expect(silent).toEqual([]);
  expect(why).toContain('The account record, all of it');
});

describe('README.md', () => {
  const readme = read('README.md');

  test('names every command, and no other', () => {
    const named = firstCells(readme)
      .filter((cell) => cell.startsWith('opsd '))
      .map((cell) => cell.split(' ')[1]);
    expect(new Set(named)).toEqual(new Set([...COMMANDS.map((command) => command.name), 'help']));
  });

  test('shows a configuration that loads', () => {
    const [, config] = blocks(readme, 'yaml');
    const loaded = parseConfig(config!, { file: 'README.md', baseDir: ROOT, env: {}, secrets: false });
    expect(loaded).toMatchObject({ ok: true, warnings: [] });
  });

  test('names only scripts that exist', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const named = [...readme.matchAll(/npm run (?:--silent )?([\w:]+)/g)].map((match) => match[1]!);
    expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
  });

  test('links to files that exist', () => {
    const links = [...readme.matchAll(/\]\(([^)#:]+)\)/g)].map((match) => match[1]!);
    expect(links.length).toBeGreaterThan(8);
    for (const link of links) if (!link.endsWith('/')) expect(() => read(link), link).not.toThrow();
  });
});

describe('docs/policies.md', () => {
  const text = read('docs/policies.md');

  test('has every guard in its table, and no other', () => {
    const table = text.slice(text.indexOf('| guard | stops |'), text.indexOf("The guard's name"));
    expect(firstCells(table).toSorted()).toEqual(GUARDS.map((guard) => guard.name).toSorted());
  });

  test('has every key of a policy', () => {
    const own = ['name', 'description', 'owner', 'account'];
    const missing = Object.keys(policySettings.shape).filter((key) => ![...own, ...firstCells(text)].includes(key));
    expect(missing).toEqual([]);
  });

  test('names every field that an expression sees', () => {
    expect(Object.keys(ENTRY_FIELDS).filter((field) => !text.includes(field))).toEqual([]);
  });

  test('shows a policy that loads', () => {
    const account = 'accounts: [{ name: production, url: "https://x.example", token: t }]\n';
    const loaded = parseConfig(account + blocks(text, 'yaml')[0]!, { file: 'policies.md', baseDir: ROOT, env: {} });
    expect(loaded).toMatchObject({ ok: true, config: { policies: [{ settings: { mode: 'audit' } }] } });
  });
});

test('the configuration of the demo is good', () => {
  const env = Object.fromEntries(
    ['FOLDER', 'ACCOUNT', 'TOKEN', 'USERNAME', 'PASSWORD', 'SEARCH_INDEX', 'VECTOR_INDEX'].map((name) => [
      `OPSD_DEMO_${name}`,
      'x',
    ]),
  );
  const loaded = loadConfig(join(ROOT, 'src/cli/demo.yaml'), {
    env: { ...env, OPSD_DEMO_URL: 'http://127.0.0.1:1', OPSD_DEMO_LOG_LEVEL: 'info' },
  });
  expect(loaded).toMatchObject({ ok: true, warnings: [] });
});

test('the image starts what the scripts start', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: { opsd: string } };
  const entry = /^ENTRYPOINT (.*)$/m.exec(read('Dockerfile'))![1]!;
  expect((JSON.parse(entry) as string[]).join(' ')).toBe(scripts.opsd);
});
