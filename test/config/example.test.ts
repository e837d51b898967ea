/**
 * Compares `config.example.yaml` with the schema: every key has a sentence, the named defaults are the defaults, and
 * the file loads.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isMap, isScalar, isSeq, LineCounter, parse, parseDocument } from 'yaml';
import { DEFAULT_INTERVAL_MS } from '#observe/collectors/settings.ts';
import { formatProblems, loadConfig } from '#config/load.ts';
import { allKeys, defaultOf, keysOf } from '#config/schema-walk.ts';
import { configSettings } from '#config/settings.ts';
import { parseDuration } from '#foundation/domain/duration.ts';

const ROOT = join(import.meta.dirname, '../..');
const EXAMPLE = readFileSync(join(ROOT, 'config.example.yaml'), 'utf8');

/** A key of the example. */
interface ShownKey {
  /** Path such as `accounts[].client.timeout`. */
  readonly path: string;
  readonly value: unknown;
  /** The lines directly above it. */
  readonly comment: string;
}

/** `#key: value`, without a space behind the `#`, is an omitted key. Without the `#` it is a regular key. */
const everything = EXAMPLE.replace(/^( *)#(?=[A-Za-z]\w*:)/gm, '$1');

/** Mappings whose keys are the user's own. */
const OWN_KEYS = new Set(['server.users', 'hooks.alertmanager', 'hooks.callbacks', 'notifications.owners']);

function shownKeys(): ShownKey[] {
  const counter = new LineCounter();
  const document = parseDocument(everything, { lineCounter: counter });
  expect(document.errors).toEqual([]);
  const lines = everything.split('\n');
  const found: ShownKey[] = [];
  const walk = (node: unknown, path: string): void => {
    if (isSeq(node)) for (const item of node.items) walk(item, `${path}[]`);
    if (!isMap(node)) return;
    for (const { key, value } of node.items) {
      if (!isScalar(key)) continue;
      const own = OWN_KEYS.has(path) ? `${path}.*` : path === '' ? String(key.value) : `${path}.${String(key.value)}`;
      const line = counter.linePos(key.range![0]).line - 1;
      let first = line;
      while (/^ *# /.test(lines[first - 1] ?? '')) first--;
      const comment = lines.slice(first, line).map((text) => text.trim().slice(2));
      if (OWN_KEYS.has(path)) {
        walk(value, own);
        continue;
      }
      found.push({
        path: own,
        value: isScalar(value) || isSeq(value) ? value.toJS(document) : undefined,
        comment: comment.join(' '),
      });
      walk(value, own);
    }
  };
  walk(document.contents, '');
  return found;
}

const shown = shownKeys();
const known = [...allKeys(configSettings)];
const byPath = new Map(known.map((key) => [key.path, key]));
/** True for values of a mapping with the user's own keys. */
const isFree = (path: string): boolean =>
  /\.(?:headers|labels)\.[\w-]+$/.test(path) && !path.startsWith('telemetry.metrics.');

describe('config.example.yaml', () => {
  test('loads without a message', () => {
    const result = loadConfig(join(ROOT, 'config.example.yaml'), { env: {}, secrets: false });
    expect(formatProblems(result.ok ? result.warnings : result.problems)).toBe('');
    expect(result).toMatchObject({ ok: true });
  });

  test('begins with the schema for editors', () => {
    expect(EXAMPLE.split('\n')[0]).toBe('# yaml-language-server: $schema=./config.schema.json');
  });

  test('shows every key of the schema', () => {
    const paths = new Set(shown.map((key) => key.path));
    // A key that many collectors share is explained once.
    const explained = new Set(known.filter((key) => paths.has(key.path)).map((key) => key.schema));
    expect(known.filter((key) => !explained.has(key.schema)).map((key) => key.path)).toEqual([]);
  });

  test('shows no key that the schema does not have', () => {
    expect(shown.map((key) => key.path).filter((path) => !byPath.has(path) && !isFree(path))).toEqual([]);
  });

  test('explains every key', () => {
    const silent = shown.filter((key) => !isFree(key.path) && !/^\S.*\.$/.test(key.comment));
    // The second account explains only its new keys.
    const seen = new Set(shown.filter((key) => key.comment !== '').map((key) => key.path));
    expect(silent.map((key) => key.path).filter((path) => !seen.has(path))).toEqual([]);
  });

  test('names the defaults, and no others', () => {
    for (const { path, comment } of shown) {
      const key = byPath.get(path);
      if (key === undefined || comment === '') continue;
      const named = / Default: (.+)\.$/.exec(comment)?.[1];
      const isMapping = keysOf(key.schema).size > 0;
      const actual = isMapping ? undefined : (intervalOf(path) ?? defaultOf(key.schema));
      expect(named === undefined ? undefined : inMs(path, parse(named)), path).toEqual(actual);
    }
  });
});

/** The schema lacks the default interval of a collector, because collectors differ. */
function intervalOf(path: string): number | undefined {
  const name = /^accounts\[\]\.collectors\.(\w+)\.every$/.exec(path)?.[1];
  return DEFAULT_INTERVAL_MS[name as keyof typeof DEFAULT_INTERVAL_MS];
}

function inMs(path: string, value: unknown): unknown {
  return intervalOf(path) === undefined ? value : parseDuration(String(value));
}
