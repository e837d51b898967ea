/** Content of a panel over a few series, evaluated by the real promtool. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Dashboard } from './grafana/dashboard.ts';
import { installed, start } from './program.ts';
import { tempDir } from './temp-dir.ts';

export interface PanelCase {
  readonly says: string;
  /** `UID/TITLE`, with `/B` and so on for another query than the first; `UID/@NAME` for marks on the panels. */
  readonly panel: string;
  /** An hour of values, one per minute. */
  readonly given: Readonly<Record<string, string>>;
  /** Values by labels; none for an empty panel. */
  readonly shown: Readonly<Record<string, number>>;
}

/** Returns a series of one daemon about one account; `account: ''` for one about the daemon. */
export function of(metric: string, labels = '', { account = 'shop', instance = 'a' } = {}): string {
  const all = [account === '' ? '' : `account="${account}"`, 'job="opsd"', `instance="${instance}"`, labels];
  return `${metric}{${all.filter((part) => part !== '').join(',')}}`;
}

/** The form `x60` is not possible after an infinity. */
export const always = (value: number | string): string => Array.from({ length: 61 }, () => value).join(' ');

/** Returns the query as Grafana writes it with All selected everywhere. */
function exprOf(panel: string): string {
  const [uid, title, refId = 'A'] = panel.split('/');
  const path = join(import.meta.dirname, `../../dashboards/json/${uid}.json`);
  const { panels, annotations } = JSON.parse(readFileSync(path, 'utf8')) as Dashboard;
  const target =
    annotations.list.find(({ name }) => `@${name}` === title) ??
    panels.find((one) => one.title === title)?.targets?.find((one) => one.refId === refId);
  if (target?.expr === undefined) throw new Error(`there is no panel ${panel}`);
  const times = target.expr
    .replaceAll('$__rate_interval', '5m')
    .replaceAll('$__range', '1h')
    .replaceAll('$__interval_ms', '60000')
    .replaceAll('$__interval', '5m');
  return times.replaceAll(/\$[a-z]\w*/g, '.+');
}

/** Declares a test for each case. */
export function testPanels(cases: readonly PanelCase[]): void {
  test.for(cases)('$panel: $says', async (one, { skip }) => {
    const promtool = installed('promtool');
    if (promtool === undefined) skip('promtool is not installed');
    const { said, code } = await verdictOf(promtool!, one);
    expect(said).toContain('SUCCESS');
    expect(code).toBe(0);
  });
}

/** Returns promtool's output, an hour after the first value. */
async function verdictOf(promtool: string, { panel, given, shown }: PanelCase) {
  const file = join(tempDir(), 'cases.json');
  const samples = Object.entries(shown).map(([labels, value]) => ({ labels, value }));
  const asked = { expr: exprOf(panel), eval_time: '1h', exp_samples: samples };
  const series = Object.entries(given).map(([name, values]) => ({ series: name, values }));
  // JSON is YAML.
  writeFileSync(file, JSON.stringify({ tests: [{ interval: '1m', input_series: series, promql_expr_test: [asked] }] }));
  const ran = start(promtool, ['test', 'rules', file]);
  const { code } = await ran.ended;
  return { said: ran.stdout() + ran.stderr(), code };
}
