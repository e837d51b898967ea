/** `config.schema.json` matches the code, and describes every key. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { configJsonSchema, policyTestJsonSchema } from '#config/json-schema.ts';

interface Node {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly items?: Node;
  readonly anyOf?: readonly Node[];
  readonly additionalProperties?: unknown;
  readonly writeOnly?: boolean;
  readonly [key: string]: unknown;
}

/** Yields every property, with its path. */
function* properties(node: Node, path = ''): Generator<readonly [string, Node]> {
  if (node.items !== undefined) yield* properties(node.items, `${path}[]`);
  if (typeof node.additionalProperties === 'object') yield* properties(node.additionalProperties as Node, `${path}.*`);
  for (const member of node.anyOf ?? []) yield* properties(member, path);
  for (const [name, inner] of Object.entries(node.properties ?? {})) {
    yield [`${path}.${name}`, inner];
    yield* properties(inner, `${path}.${name}`);
  }
}

describe('the JSON Schema', () => {
  const schema = configJsonSchema() as Node;
  const all = [...properties(schema)];

  test('is checked in unchanged; npm run schema writes it', () => {
    const file = readFileSync(join(import.meta.dirname, '../../config.schema.json'), 'utf8');
    expect(file).toBe(`${JSON.stringify(configJsonSchema(), null, 2)}\n`);
  });

  test('is draft 2020-12 with a title', () => {
    expect(schema).toMatchObject({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      title: 'Configuration of opsd',
      additionalProperties: false,
      required: ['accounts'],
    });
  });

  test('describes every property in a sentence', () => {
    expect(all.length).toBeGreaterThan(250);
    expect(all.filter(([, node]) => !/^\S.*\.$/.test(node.description ?? '')).map(([path]) => path)).toEqual([]);
  });

  test('allows unknown keys only in headers, labels, and where names are the key', () => {
    const open = all.filter(([, node]) => node['type'] === 'object' && node.additionalProperties !== false);
    expect(open.map(([path]) => path)).toEqual([
      '.server.users',
      '.telemetry.traces.otlp.headers',
      '.hooks.alertmanager',
      '.hooks.callbacks',
      '.notifications.webhook.headers',
      '.notifications.alertmanager.headers',
      '.notifications.alertmanager.labels',
      '.notifications.owners',
      '.notifications.owners.*.webhook.headers',
    ]);
  });

  test('marks secrets', () => {
    const secrets = all.filter(([path]) => /\.(?:token|actionToken|password|signingKeys)$/.test(path));
    expect(secrets).toHaveLength(13);
    expect(secrets.filter(([, node]) => node.writeOnly !== true)).toEqual([]);
  });
});

test('the schema of policy tests describes every property in a sentence, and is closed where names are not free', () => {
  const all = [...properties(policyTestJsonSchema() as Node)];
  expect(all.length).toBeGreaterThan(100);
  expect(all.filter(([, node]) => !/^\S.*\.$/.test(node.description ?? '')).map(([path]) => path)).toEqual([]);
  const open = all.filter(([, node]) => node['type'] === 'object' && node.additionalProperties !== false);
  expect(new Set(open.map(([path]) => path.split('.').at(-1)))).toEqual(
    new Set(['deliveries', 'alertFiring', 'flowWaiting', 'flowPaused', 'canary', 'filter']),
  );
});
