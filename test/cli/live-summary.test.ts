import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { renderBanner, renderSummary, type SummaryData } from '#cli/commands/live-summary.ts';

const NOW = Date.UTC(2026, 10, 18, 10, 30, 0);

/** The fields of a status that the summary shows. */
const DATA = {
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
      campaigns: [
        {
          group: 'https://a.example/invoice',
          state: 'settling',
          step: 4,
          size: 27,
          verified: 13,
          judged: 13,
          until: NOW + 80_000,
        },
        {
          group: 'https://a.example/order',
          state: 'halted',
          step: 1,
          size: 1,
          verified: 0,
          judged: 3,
          until: NOW + 1_500_000,
        },
        { group: 'https://a.example/new', state: 'ready', step: 1, size: 1, verified: 0, judged: 0 },
      ],
      lastRun: { at: NOW - 10_000, outcome: 'acted', matched: 9, acted: 3, backlog: 6 },
    },
    {
      name: 'resume-email',
      effectiveMode: 'enforce',
      campaigns: [],
      held: { guard: 'quota', since: NOW - 600_000 },
      lastRun: { at: NOW - 5_000, outcome: 'held', matched: 9, acted: 0, backlog: 9 },
    },
    { name: 'resume-onboarding', effectiveMode: 'audit', campaigns: [] },
  ],
  conditions: [
    { key: 'approval/p', summary: 'Plan 9f3c2a of policy p pending approval', since: NOW - 120_000 },
    { key: 'held/resume-email', summary: 'quota holds resume-email', since: NOW - 600_000 },
    { key: 'held/other', summary: 'quota holds other', since: NOW - 600_000 },
  ],
  actions: [
    {
      at: NOW - 9_000,
      policy: 'resume-billing',
      action: 'workflow-dlq.resume',
      target: 'dlq-1',
      outcome: 'failed_again',
    },
  ],
};

function summaryOf(data: object, width: number, color: boolean): string {
  return renderSummary(data as SummaryData, width, color);
}

describe('the summary', () => {
  test('shows the present state', () => {
    expect(summaryOf(DATA, 120, false)).toBe(`▲ resume-email is held: quota.  up 1 min 35 s
  12,345 delivered   12 failed
  sources   2 ok, 1 off
  active    Plan 9f3c2a of policy p pending approval  2 min ago
  active    quota holds resume-email  10 min ago
            and 1 more
  policy    resume-billing [enforce] acted 10 s ago (9 matched: 3 acted on, 6 left), next in 20 s
  policy    resume-email [enforce] held by quota for 10 min, 5 s ago (9 matched: 0 acted on, 9 left)
  policy    resume-onboarding [audit] has not run
  campaign  resume-billing step 1 halted for 25 min, 0 of 3 verified  https://a.example/order
  campaign  resume-billing step 4 settling for 1 min 20 s, 13 of 13 verified  https://a.example/invoice
  campaign  resume-billing step 1 ready, no results yet  https://a.example/new
  action    workflow-dlq.resume dlq-1: failed again, 9 s ago by resume-billing
`);
  });

  test('omits absent parts', () => {
    const empty = { ...DATA, figures: [], sources: [], policies: [], actions: [], conditions: [] };
    expect(summaryOf(empty, 120, false).split('\n')).toHaveLength(2);
  });

  test('colors without changing a word', () => {
    const painted = summaryOf(DATA, 120, true);
    expect(painted).toContain('\u001B[33m');
    expect(stripVTControlCharacters(painted)).toBe(summaryOf(DATA, 120, false));
  });

  test('no line exceeds the width of the terminal, whatever the names', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 200 }),
        fc.string({ maxLength: 80, unit: 'grapheme-ascii' }),
        fc.boolean(),
        (width, name, color) => {
          const data = {
            ...DATA,
            conditions: [{ key: 'k', summary: name, since: NOW }],
            policies: [{ name: `${name}\u001B[2J\n`, effectiveMode: 'off', campaigns: [] }],
          };
          const lines = stripVTControlCharacters(summaryOf(data, width, color))
            .trimEnd()
            .split('\n');
          expect(lines).toHaveLength(6);
          for (const line of lines) expect(line.length).toBeLessThanOrEqual(width);
        },
      ),
    );
  });

  test('stays short', () => {
    const { campaigns } = DATA.policies[0]!;
    const policies = Array.from({ length: 50 }, (_, index) => ({
      name: `p${index}`,
      effectiveMode: 'audit',
      campaigns,
    }));
    const actions = Array.from({ length: 50 }, () => DATA.actions[0]!);
    expect(summaryOf({ ...DATA, policies, actions }, 120, false).split('\n').length).toBeLessThan(24);
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
