/** The rendered dashboards: current, and compliant with every rule of the linter. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { dashboards } from '../../dashboards/index.ts';
import { UIDS } from '../../dashboards/parts/links.ts';
import { rendered } from '../../dashboards/rendered.ts';
import { lint } from '../support/dashboard-lint.ts';
import type { Dashboard, Panel } from '../support/grafana/dashboard.ts';

const AT = join(import.meta.dirname, '../../dashboards');

const uids = dashboards.map(({ uid }) => uid ?? '');

function parsed(path: string): unknown {
  return JSON.parse(readFileSync(join(AT, path), 'utf8'));
}

describe('rendered dashboards', () => {
  test('are current: npm run dashboards', () => {
    const files = rendered(dashboards);
    expect(files.size).toBe(2 * dashboards.length + 1);
    for (const [path, text] of files) {
      expect(existsSync(join(AT, path)), path).toBe(true);
      expect(readFileSync(join(AT, path), 'utf8') === text, `${path} is current: npm run dashboards`).toBe(true);
    }
    const there = ['json', 'import'].flatMap((folder) =>
      readdirSync(join(AT, folder)).map((name) => `${folder}/${name}`),
    );
    expect([...there, 'kustomization.yaml'].sort()).toEqual([...files.keys()].sort());
  });

  test('have unique uids and titles', () => {
    expect(new Set(uids).size).toBe(dashboards.length);
    expect(new Set(dashboards.map(({ title }) => title)).size).toBe(dashboards.length);
  });

  test('are the only targets of links', () => {
    expect([...uids].sort()).toEqual([...UIDS].sort());
  });

  test.each(uids)('%s follows every rule', (uid) => {
    expect(lint(parsed(`json/${uid}.json`) as Dashboard, { uids: UIDS })).toEqual([]);
  });

  test.each(uids)('%s asks for its datasource when it is imported manually, and is otherwise equal', (uid) => {
    const imported = parsed(`import/${uid}.json`) as {
      __inputs: { name: string; pluginId: string }[];
      __requires: { type: string; id: string }[];
      templating: { list: { name: string; current?: unknown }[] };
      panels: { type: string }[];
    };
    expect(imported.__inputs).toMatchObject([{ name: 'DS_PROMETHEUS', pluginId: 'prometheus' }]);
    const needed = imported.__requires.filter(({ type }) => type === 'panel').map(({ id }) => id);
    expect(needed).toEqual(
      [...new Set(imported.panels.map(({ type }) => type))].filter((type) => type !== 'row').sort(),
    );
    expect(imported.templating.list[0]).toMatchObject({ name: 'datasource', current: { value: '${DS_PROMETHEUS}' } });

    const { __inputs, __requires, ...rest } = imported;
    rest.templating.list[0]!.current = {};
    expect(rest).toEqual(parsed(`json/${uid}.json`));
  });
});

describe('the deliveries', () => {
  const { panels } = parsed('json/opsd-deliveries.json') as { panels: Panel[] };
  const lines = panels.filter(({ type }) => type === 'timeseries');

  test('lead from each line of latency to traces of messages', () => {
    const targets = lines.flatMap(({ targets: all = [] }) => all).filter(({ expr = '' }) => expr.includes('_quantile'));
    expect(targets).toHaveLength(3);
    expect(targets.every((target) => target.exemplar)).toBe(true);
  });

  test('lead from each destination to itself alone, and to its workflows', () => {
    const byDestination = lines.filter(({ targets: all = [] }) =>
      all.some(({ legendFormat = '' }) => legendFormat === '{{destination}}'),
    );
    expect(byDestination.length).toBeGreaterThan(5);
    for (const panel of byDestination) {
      const urls = JSON.stringify(panel.fieldConfig);
      expect(urls).toContain('var-destination=${__field.labels.destination}');
      expect(urls).toContain('/d/opsd-workflows?');
      expect(urls).toContain('var-host=${__field.labels.destination}');
    }
  });
});

describe('docs/dashboards.md', () => {
  const text = readFileSync(join(AT, '../docs/dashboards.md'), 'utf8');
  const named = (part: string): string[] => [...part.matchAll(/`([^`]+)`/g)].map((match) => match[1]!);
  const rows = (heading: string): string[][] =>
    text
      .slice(text.indexOf(heading))
      .split('\n\n')
      .find((block) => block.startsWith('|'))!
      .split('\n')
      .slice(2)
      .map((line) => line.split('|').slice(1, -1));

  test('has a line for each dashboard', () => {
    expect(rows('# Dashboards').flatMap(([uid = '']) => named(uid))).toEqual(uids);
  });

  test('names a panel of the overview for each of the first questions, and dashboards that its links lead to', () => {
    const overview = parsed('json/opsd-overview.json') as { panels: Panel[] };
    const questions = rows('## The first questions');
    expect(questions).toHaveLength(11);
    for (const [question, first = '', then = ''] of questions) {
      const panels = overview.panels.filter(({ title = '' }) => named(first).includes(title));
      expect(panels.length, question).toBe(named(first).length);
      const links = JSON.stringify(panels);
      for (const uid of named(then)) expect(links, question).toContain(`/d/${uid}?`);
    }
  });
});
