/**
 * Writes the chart's generated files: the schema of its values, their table in the README, and copies of the defaults,
 * rules, and dashboards, because templates read only files of the chart: `npm run chart`.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parse, stringify } from 'yaml';
import { marked, table } from '../prometheus/document.ts';
import { RULE_FILES } from '../prometheus/render.ts';
import { GRAFANA, RUNBOOKS } from '../prometheus/thresholds.ts';
import { definitions, type Schema } from './kubernetes-schema.ts';
import { nullable } from './nullable.ts';
import { CONDITIONS, Group, KUBERNETES_TYPES, REMOVABLE, type Shape, VALUES } from './values-schema.ts';
import { valuesOf } from './values.ts';

const ROOT = join(import.meta.dirname, '../..');
export const CHART = 'deploy/helm/opsd';
const DASHBOARDS = 'dashboards/json';

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** Returns the texts of the generated files by their paths in the project. */
export function renderChart(): Readonly<Record<string, string>> {
  const dashboards = readdirSync(join(ROOT, DASHBOARDS)).map((name) => [
    `${CHART}/files/dashboards/${name}`,
    // Compact: a release must fit into a Secret, with the chart and its manifests.
    `${JSON.stringify(JSON.parse(read(`${DASHBOARDS}/${name}`)))}\n`,
  ]);
  return {
    [`${CHART}/values.schema.json`]: `${JSON.stringify(valuesSchema(), undefined, 2)}\n`,
    [`${CHART}/README.md`]: read(`${CHART}/README.md`).replace(marked('values'), () => `\n${valuesTable()}\n`),
    [`${CHART}/files/defaults.yaml`]: defaults(),
    [`${CHART}/files/rules.yaml`]: rules(),
    ...Object.fromEntries(dashboards),
  };
}

function valuesSchema(): Schema {
  // The defaults have the required key, so a file of values needs none. A check of the templates needs it.
  const { $schema: _newer, required: _accounts, ...config } = JSON.parse(read('config.schema.json')) as Schema;
  const schema = {
    // Newer drafts are unknown to older versions of Helm.
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Values of the chart opsd',
    ...schemaOf(VALUES),
    ...CONDITIONS,
    definitions: { config: forHelm(config), ...definitions(KUBERNETES_TYPES) },
  };
  return nullable(schema);
}

function schemaOf(shape: Shape): Schema {
  if (!(shape instanceof Group)) return shape;
  const properties = Object.fromEntries(Object.entries(shape.shapes).map(([key, inner]) => [key, schemaOf(inner)]));
  return { type: 'object', properties, additionalProperties: false };
}

/** Helm has no lookarounds in patterns. The daemon checks these values itself. */
function forHelm(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(forHelm);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(
    ([key, inner]) => !(key === 'pattern' && typeof inner === 'string' && /\(\?<?[=!]/.test(inner)),
  );
  return Object.fromEntries(entries.map(([key, inner]) => [key, forHelm(inner)]));
}

function valuesTable(): string {
  const rows = valuesOf(read(`${CHART}/values.yaml`), VALUES).map(({ path, description, schema, default: value }) => {
    if (schema === undefined) return [`\`${path}\``, description, '', ''];
    const isLong = ['config', 'policies'].includes(path);
    return [`\`${path}\``, description, typeOf(schema), isLong ? 'see values.yaml' : `\`${JSON.stringify(value)}\``];
  });
  return table(['value', 'meaning', 'type', 'default'], rows);
}

function typeOf({ $ref, type, items, const: value, enum: values, anyOf }: Schema): string {
  if (Array.isArray(anyOf)) return (anyOf as readonly Schema[]).map(typeOf).join(', ');
  if (typeof $ref === 'string') return $ref.replace(/^.*[./]/, '');
  if (value !== undefined) return `\`${JSON.stringify(value)}\``;
  if (Array.isArray(values)) return values.map((value) => `\`${JSON.stringify(value)}\``).join(', ');
  return type === 'array' ? `list of ${typeOf(items as Schema)}` : String(type);
}

/** Values that null stands for. Helm deletes such keys, and templates cannot read values.yaml. */
function defaults(): string {
  const values = Object.entries(parse(read(`${CHART}/values.yaml`)) as object);
  const kept = Object.fromEntries(values.filter(([key]) => !REMOVABLE.includes(key)));
  return `# Rendered from values.yaml by \`npm run chart\`: change it there.\n${stringify(kept, { lineWidth: 0 })}`;
}

/** The rules of Prometheus, with the addresses that values can replace. */
function rules(): string {
  const groups = RULE_FILES.flatMap((file) => (parse(read(file)) as { groups: unknown[] }).groups);
  const header = '# Rendered from deploy/prometheus/rules by `npm run chart`: change it there.\n';
  const addresses = { runbookUrl: RUNBOOKS, grafanaUrl: GRAFANA };
  return header + stringify({ ...addresses, groups }, { lineWidth: 0, aliasDuplicateObjects: false });
}

if (import.meta.main) {
  // Removes dashboards that no longer exist.
  rmSync(join(ROOT, CHART, 'files'), { recursive: true, force: true });
  for (const [path, text] of Object.entries(renderChart())) {
    mkdirSync(dirname(join(ROOT, path)), { recursive: true });
    writeFileSync(join(ROOT, path), text);
  }
}
