import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { renderBanner, renderSummary, type SummaryData } from '../../src/cli/live-summary.ts';

const NOW = Date.UTC(2026, 10, 18, 10, 30, 0);

const DATA: SummaryData = {
  at: NOW,
  startedAt: NOW - 95_000,
  verdict: { level: 'attention', sentence: 'resume-email is held: quota.' },
  figures: [
    { label: 'delivered', value: 12_345 },
    { label: 'failed', value: 12 },
  ],
  sources: [
    { account: 'demo', collector: 'logs', state: 'ok' },
    { account: 'demo', collector: 'urlGroups', state: 'ok' },
    { account: 'demo', collector: 'vectorStats', state: 'off' },
  ],
  policies: [
    {
      name: 'resume-billing',
      effectiveMode: 'enforce',
      nextRunAt: NOW + 20_000,
      lastRun: { at: NOW - 10_000, outcome: 'acted', matched: 9, acted: 3 },
    },
    { name: 'resume-email', effectiveMode: 'audit' },
  ],
  actions: [
    { at: NOW - 9_000, policy: 'resume-billing', action: 'workflow-dlq.resume', target: 'dlq-1', outcome: 'came_back' },
  ],
};

describe('the summary', () => {
  test('says how things are', () => {
    expect(renderSummary(DATA, 120, false)).toBe(`▲ resume-email is held: quota.  up 1m35s
  12,345 delivered   12 failed
  sources   2 ok, 1 off
  policy    resume-billing [enforce] acted 10s ago (9 matched, 3 acted on), next in 20s
  policy    resume-email [audit] has not run
  action    workflow-dlq.resume dlq-1: came back, 9s ago by resume-billing
`);
  });

  test('has nothing to say of what is not there', () => {
    const empty = { ...DATA, figures: [], sources: [], policies: [], actions: [] };
    expect(renderSummary(empty, 120, false).split('\n')).toHaveLength(2);
  });

  test('paints without changing a word', () => {
    const painted = renderSummary(DATA, 120, true);
    expect(painted).toContain('\u001B[33m');
    expect(stripVTControlCharacters(painted)).toBe(renderSummary(DATA, 120, false));
  });

  test('no line is longer than the terminal is wide, whatever the names', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 200 }),
        fc.string({ maxLength: 80, unit: 'grapheme-ascii' }),
        fc.boolean(),
        (width, name, color) => {
          const data = { ...DATA, policies: [{ name: `${name}\u001B[2J\n`, effectiveMode: 'off' }] };
          const lines = stripVTControlCharacters(renderSummary(data, width, color))
            .trimEnd()
            .split('\n');
          expect(lines).toHaveLength(5);
          for (const line of lines) expect(line.length).toBeLessThanOrEqual(width);
        },
      ),
    );
  });

  test('stays short', () => {
    const policies = Array.from({ length: 50 }, (_, index) => ({ name: `p${index}`, effectiveMode: 'audit' }));
    expect(renderSummary({ ...DATA, policies }, 120, false).split('\n').length).toBeLessThan(16);
  });
});

test('the banner lists the addresses', () => {
  const banner = renderBanner(
    {
      version: '0.1.0',
      what: 'the daemon over the embedded service',
      addresses: [
        { label: 'Page', href: 'http://127.0.0.1:10777/' },
        { label: 'Metrics', href: 'http://127.0.0.1:10777/metrics' },
      ],
      hints: ['Ctrl-C ends it.'],
    },
    false,
  );
  expect(banner).toBe(`opsd 0.1.0  the daemon over the embedded service

  Page     http://127.0.0.1:10777/
  Metrics  http://127.0.0.1:10777/metrics

Ctrl-C ends it.
`);
});
