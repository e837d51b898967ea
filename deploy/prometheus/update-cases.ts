/**
 * Writes the current annotations into the cases that expect these alerts. Run `npm run rules:cases` after a change of a
 * text. It does not change labels, times, and silent cases. Review the difference before you commit it.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isMap, isSeq, parseDocument, type Document, type YAMLMap } from 'yaml';
import { RULE_FILES } from './render.ts';

const CASES = join(import.meta.dirname, 'tests');

interface Fired {
  readonly test: string;
  readonly alertname: string;
  readonly time: string;
  readonly alerts: readonly { readonly labels: Texts; readonly annotations: Texts }[];
}

type Texts = Readonly<Record<string, string>>;

const HEAD = /name: (.*),\s*\n\s*alertname: (\w+), time: (\w+),/;
const ALERT = /Labels:\{(.*)\}\s*\n\s*Annotations:\{(.*)\}/g;

/** Parses the alerts that fired instead of the expected ones from the output of promtool. */
function firedIn(output: string): readonly Fired[] {
  return output.split(/^(?=\s*name: )/m).flatMap((part) => {
    const head = HEAD.exec(part);
    const got = part.indexOf('got:[');
    if (head === null || got === -1) return [];
    const alerts = [...part.slice(got).matchAll(ALERT)].map(([, labels, annotations]) => ({
      labels: textsOf(labels!),
      annotations: textsOf(annotations!),
    }));
    return [{ test: head[1]!, alertname: head[2]!, time: head[3]!, alerts }];
  });
}

function textsOf(text: string): Texts {
  const pairs = [...text.matchAll(/(\w+)=("(?:[^"\\]|\\.)*")/g)];
  return Object.fromEntries(pairs.map(([, name, value]) => [name, JSON.parse(value!) as string]));
}

function itemsOf(node: unknown): readonly YAMLMap[] {
  return isSeq(node) ? node.items.filter((item) => isMap(item)) : [];
}

function update(document: Document, { test, alertname, time, alerts }: Fired): void {
  const cases = itemsOf(document.get('tests'))
    .filter((one) => one.get('name') === test)
    .flatMap((one) => itemsOf(one.get('alert_rule_test')))
    .filter((one) => one.get('alertname') === alertname && minutes(String(one.get('eval_time'))) === minutes(time));
  for (const expected of cases.flatMap((one) => itemsOf(one.get('exp_alerts')))) {
    const labels = { alertname, ...(expected.toJSON() as { exp_labels: Texts }).exp_labels };
    const fired = alerts.find((alert) => sameTexts(alert.labels, labels));
    if (fired === undefined) continue;
    const { summary, description, runbook_url, dashboard_url } = fired.annotations;
    expected.set('exp_annotations', document.createNode({ summary, description, runbook_url, dashboard_url }));
  }
}

/** Returns the minutes of a duration, because one time has several texts: 72m is 1h12m. */
function minutes(duration: string): number {
  const units: Readonly<Record<string, number>> = { d: 1_440, h: 60, m: 1, s: 1 / 60 };
  return [...duration.matchAll(/(\d+)([dhms])/g)].reduce(
    (sum, [, number, unit]) => sum + Number(number) * units[unit!]!,
    0,
  );
}

function sameTexts(one: Texts, other: Texts): boolean {
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every((key) => one[key] === other[key]);
}

/** Returns what promtool prints about the cases. */
function tried(document: Document): string {
  const copy = document.clone();
  copy.set(
    'rule_files',
    RULE_FILES.map((file) => join(import.meta.dirname, '../..', file)),
  );
  const folder = mkdtempSync(join(tmpdir(), 'cases-'));
  try {
    const path = join(folder, 'cases.yaml');
    writeFileSync(path, copy.toString());
    const { stdout, stderr } = spawnSync('promtool', ['test', 'rules', path], { encoding: 'utf8' });
    return stdout + stderr;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

for (const file of readdirSync(CASES)) {
  const path = join(CASES, file);
  const document = parseDocument(readFileSync(path, 'utf8'));
  const fired = firedIn(tried(document));
  for (const one of fired) update(document, one);
  if (fired.length > 0) writeFileSync(path, document.toString({ lineWidth: 0, flowCollectionPadding: true }));
}
