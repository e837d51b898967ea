/** The times in docs/alerts.md, as promtool measures them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { DOCUMENT, marked } from '../../deploy/prometheus/document.ts';
import {
  FAST,
  RESPONSES,
  responsesTo,
  responseTable,
  type Playback,
  type Response,
} from '../../deploy/prometheus/response-times.ts';
import { installed } from '../support/program.ts';

const document = readFileSync(join(import.meta.dirname, '../..', DOCUMENT), 'utf8');
const promtool = installed('promtool');

const measured = new Map<Playback, readonly (readonly Response[])[]>();
function responses(playback: Playback): readonly (readonly Response[])[] {
  const known = measured.get(playback) ?? responsesTo(playback, promtool);
  measured.set(playback, known);
  return known;
}

describe.skipIf(promtool === undefined)('response times', () => {
  test.each(Object.entries(RESPONSES))(
    "%s: the table has promtool's results: npm run rules:times",
    (mark, playback) => {
      expect(marked(mark).exec(document)?.[0].trim()).toBe(responseTable(playback, responses(playback)).trim());
    },
  );

  test('a failure of at most 5 minutes fires nothing', () => {
    const short = FAST.scenarios.flatMap(({ phases }, index) =>
      phases.length === 1 && phases[0]!.minutes <= 5 ? [responses(FAST)[index]] : [],
    );
    expect(short.length).toBeGreaterThan(4);
    expect(short.flat()).toEqual([]);
  });

  test('half of the attempts, or more, alert within 20 minutes, whatever the traffic and the history', () => {
    const partial = FAST.scenarios.flatMap(({ failure, phases }, index) =>
      phases.length === 1 && phases[0]!.attempts >= 0.5 && phases[0]!.minutes > 20
        ? [{ failure, first: responses(FAST)[index]![0]?.from ?? Number.NaN }]
        : [],
    );
    expect(partial.length).toBeGreaterThan(10);
    expect(partial.filter(({ first }) => !(first <= 20))).toEqual([]);
  });

  test('failures within the objective fire nothing', () => {
    const allowed = FAST.scenarios.flatMap(({ phases }, index) =>
      phases.every(({ attempts, messages = 0 }) => attempts <= 0.05 && messages <= 0.01)
        ? [responses(FAST)[index]]
        : [],
    );
    expect(allowed.length).toBeGreaterThan(2);
    expect(allowed.flat()).toEqual([]);
  });
});
