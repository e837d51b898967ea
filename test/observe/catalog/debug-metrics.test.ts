/** Metrics for developers of the daemon: off by default, and unused by all shipped files. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { METRIC_NAMES, specOf } from '#observe/catalog/catalog.ts';
import { publishEverything, world } from '../metrics/world.ts';

const ROOT = join(import.meta.dirname, '../../..');
const DEBUG = METRIC_NAMES.filter((name) => specOf(name).debug === true);
/** Rules and their sources, dashboards, runbooks. */
const SHIPPED = ['deploy/**/*.{yaml,json,ts}', 'dashboards/**/*.{json,ts}', 'docs/runbooks/*.md'];

describe.each(DEBUG)('%s', (name) => {
  test('is used by no shipped alert, dashboard or runbook', () => {
    const uses = new RegExp(`\\b${name}(?:_bucket|_sum|_count)?\\b`);
    const files = globSync(SHIPPED, { cwd: ROOT });
    expect(files.length).toBeGreaterThan(50);
    expect(files.filter((file) => uses.test(readFileSync(join(ROOT, file), 'utf8')))).toEqual([]);
  });

  test.each([true, false])('is exposed with debug: %s', async (debug) => {
    const everything = await world({ metrics: { debug } });
    publishEverything(everything);
    const text = await everything.text();
    expect(text.includes(`# TYPE ${name} `)).toBe(debug);
    expect(debug || !text.includes(`\n${name}`)).toBe(true);
  });
});
