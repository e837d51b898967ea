/** The chart's own files, without Helm: generated files are current, and the schema of the values is complete. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { definitions, type Schema } from '../../deploy/helm/kubernetes-schema.ts';
import { CHART, renderChart } from '../../deploy/helm/render.ts';
import { Group } from '../../deploy/helm/values-schema.ts';
import { valuesOf } from '../../deploy/helm/values.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const schema = JSON.parse(read(`${CHART}/values.schema.json`)) as Schema;
const values = parse(read(`${CHART}/values.yaml`)) as Readonly<Record<string, unknown>>;

test('generated files are current: npm run chart', () => {
  const files = renderChart();
  for (const [path, text] of Object.entries(files)) expect(read(path) === text, `${path}: npm run chart`).toBe(true);
  const copied = readdirSync(join(ROOT, CHART, 'files'), { recursive: true, encoding: 'utf8' });
  const expected = Object.keys(files).filter((path) => path.includes('/files/'));
  expect(
    copied
      .filter((path) => path !== 'dashboards')
      .map((path) => `${CHART}/files/${path}`)
      .sort(),
  ).toEqual(expected.sort());
  expect(expected.length).toBeGreaterThan(5);
});

test('the version is that of the package, and the address the one of the project', () => {
  const chart = parse(read(`${CHART}/Chart.yaml`)) as Schema;
  const { version, homepage } = JSON.parse(read('package.json')) as { version: string; homepage: string };
  expect([chart['version'], chart['appVersion']]).toEqual([version, version]);
  expect(chart['home']).toBe(homepage);
});

test('the default configuration and policies are those of the kustomize base', () => {
  const base = 'deploy/kubernetes/base/config';
  expect(values['config']).toEqual(parse(read(`${base}/config.yaml`)));
  expect({ policies: values['policies'] }).toEqual(parse(read(`${base}/policies.yaml`)));
});

test('the schema accepts the default values, and rejects unknown keys at every level', () => {
  const ajv = new Ajv({ strict: false, allErrors: true });
  addFormats.default(ajv);
  const validate = ajv.compile(schema);
  expect([validate(values), validate.errors]).toEqual([true, null]);

  const open: string[] = [];
  const walk = (node: unknown, path: string): void => {
    if (typeof node !== 'object' || node === null) return;
    const { type, additionalProperties } = node as Schema;
    if ([type].flat().includes('object') && additionalProperties === undefined) open.push(path);
    for (const [key, inner] of Object.entries(node)) walk(inner, `${path}/${key}`);
  };
  walk(schema, '');
  expect(open).toEqual([]);
});

/** Values of the documentation, as editors validate them: without the defaults. */
function overlays(): [string, unknown][] {
  const files = readdirSync(join(ROOT, 'test/deploy/helm-values')).map((name) => `test/deploy/helm-values/${name}`);
  const blocks = ['docs/kubernetes.md'].flatMap((page) =>
    [...read(page).matchAll(/^( *)```yaml\n(.*?)^\1```/gms)].map(([, , block]): [string, string] => [page, block!]),
  );
  return [...files.map((path): [string, string] => [path, read(path)]), ...blocks]
    .filter(([, text]) => !text.trim().startsWith('apiVersion:'))
    .map(([at, text]) => [at, parse(text) as unknown]);
}

test('the schema accepts each documented overlay alone, and null for each optional key', () => {
  const ajv = new Ajv({ strict: false, allErrors: true });
  addFormats.default(ajv);
  const validate = ajv.compile(schema);
  expect(overlays().length).toBeGreaterThan(15);
  for (const [at, overlay] of overlays()) expect([at, validate(overlay), validate.errors]).toEqual([at, true, null]);
  const keys = Object.keys(values);
  expect([validate(Object.fromEntries(keys.map((key) => [key, null]))), validate.errors]).toEqual([true, null]);
  const below = keys.filter((key) => isMap(values[key]));
  for (const key of below) {
    const inner = Object.fromEntries(Object.keys(values[key] as object).map((one) => [one, null]));
    expect([key, validate({ [key]: inner }), validate.errors]).toEqual([key, true, null]);
  }
  expect(validate({ tolerations: [null] })).toBe(false);
  expect(validate({ initContainers: [{ name: null }] })).toBe(false);
});

const isMap = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);

test('each template replaces null first', () => {
  const names = readdirSync(join(ROOT, CHART, 'templates')).filter((name) => !name.startsWith('_'));
  for (const name of names)
    expect(read(`${CHART}/templates/${name}`), name).toMatch(/^\{\{- include "opsd.defaults" \. -?\}\}\n/);
  expect(names.length).toBeGreaterThan(10);
});

test('every pattern is one that Helm can use', () => {
  const patterns = JSON.stringify(schema).match(/"pattern":"(?:[^"\\]|\\.)*"/g) ?? [];
  expect(patterns.length).toBeGreaterThan(50);
  expect(patterns.filter((pattern) => /\(\?<?[=!]|\\[1-9]/.test(pattern))).toEqual([]);
});

const GROUP = new Group({ one: { type: 'string' }, more: new Group({ two: { type: 'integer' } }) });

test('values have comments and types', () => {
  expect(valuesOf('# About.\n\n# First.\none: ""\n# More.\nmore:\n  # Second,\n  # long.\n  two: 2\n', GROUP)).toEqual([
    { path: 'one', description: 'First.', schema: { type: 'string' }, default: '' },
    { path: 'more', description: 'More.' },
    { path: 'more.two', description: 'Second, long.', schema: { type: 'integer' }, default: 2 },
  ]);
  const one = '# First.\none: ""\n';
  expect(() => valuesOf(`${one}more: { two: 2 }`, GROUP)).toThrow('more.two has no comment');
  expect(() => valuesOf(one, GROUP)).toThrow('values.yaml has no more');
  expect(() => valuesOf(`${one}more: 1`, GROUP)).toThrow('more is not a map');
  expect(() => valuesOf(`${one}more:\n  # Second.\n  two: 2\n  # Third.\n  three: 3`, GROUP)).toThrow(
    'more.three has no type',
  );
});

test('types of Kubernetes become schemas that reject unknown fields', () => {
  const found = definitions(['kubernetes-models/v1/Toleration', 'kubernetes-models/v1/ResourceRequirements']);
  expect(Object.keys(found)).toEqual([
    'api.resource.Quantity',
    'v1.ResourceClaim',
    'v1.ResourceRequirements',
    'v1.Toleration',
  ]);
  expect(found['v1.Toleration']).toEqual({
    type: 'object',
    properties: {
      effect: { enum: ['NoExecute', 'NoSchedule', 'PreferNoSchedule'] },
      key: { type: 'string' },
      operator: { enum: ['Equal', 'Exists', 'Gt', 'Lt'] },
      tolerationSeconds: { type: 'integer' },
      value: { type: 'string' },
    },
    additionalProperties: false,
  });
  expect(found['v1.ResourceRequirements']).toMatchObject({
    properties: {
      claims: { type: 'array', items: { $ref: '#/definitions/v1.ResourceClaim' } },
      limits: { type: 'object', additionalProperties: { $ref: '#/definitions/api.resource.Quantity' } },
    },
  });
  expect(found['v1.ResourceClaim']).toHaveProperty('required', ['name']);
  expect(found['api.resource.Quantity']).toEqual({ type: ['number', 'string'] });
});
