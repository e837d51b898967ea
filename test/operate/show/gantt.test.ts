/** Gantt of a message: its bars are the attempts of the API, and a long wait does not hide them. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatElapsed } from '#foundation/domain/time-text.ts';
import type { AttemptView, MessageView } from '#operate/contract/messages.ts';
import { axisOf, placeOf } from '#foundation/markup/gantt.ts';
import { html } from '#foundation/markup/html.ts';
import { messageSheet } from '#operate/show/message.ts';
import { sheetText } from '#operate/show/text.ts';

const T = Date.UTC(2026, 10, 18, 10);
const DAY = 86_400_000;

const ATTEMPTS: readonly AttemptView[] = [
  { number: 1, startedAt: T + 100, endedAt: T + 350, durationMs: 250, outcome: 'failed', responseStatus: 503 },
  { number: 2, startedAt: T + 10_350, endedAt: T + 11_850, durationMs: 1_500, outcome: 'failed', failure: 'timeout' },
  {
    number: 3,
    startedAt: T + 3 * DAY,
    endedAt: T + 3 * DAY + 40,
    durationMs: 40,
    outcome: 'delivered',
    responseStatus: 200,
  },
];

function message(attempts: readonly AttemptView[] = ATTEMPTS): MessageView {
  return {
    account: 'a',
    messageId: 'msg_1',
    traceId: 't',
    isOpen: false,
    labels: [],
    timeline: [
      { at: T, kind: 'created' },
      ...attempts.map((attempt) => ({ at: attempt.startedAt!, kind: 'attempt' as const, attempt })),
      { at: T + 3 * DAY + 100, kind: 'failure_callback' },
    ],
    unknown: [],
  };
}

const pageOf = (one: MessageView): string =>
  html`${messageSheet({ at: T + 4 * DAY, account: 'a', message: one }).content}`.toString();

test('each bar has the times of its attempt and of the wait before it', () => {
  const titles = [...pageOf(message()).matchAll(/<title>([^<]*)<\/title>/g)].map(([, text]) => text);
  expect(titles).toEqual([
    'waits 100 ms before attempt 1',
    'attempt 1 failed, 250 ms, HTTP 503',
    'waits 10.0 s before attempt 2',
    'attempt 2 failed, 1.5 s, timeout',
    'waits 72.0 h before attempt 3',
    'attempt 3 delivered, 40 ms, HTTP 200',
    'failure callback',
  ]);
  const attempts = titles.filter((text) => text!.startsWith('attempt'));
  for (const [index, { durationMs }] of ATTEMPTS.entries())
    expect(attempts[index]).toContain(formatElapsed(durationMs!));
});

test('a wait of days is cut and named, and the attempts stay visible', () => {
  const page = pageOf(message());
  expect(page).toContain('long waits are cut: 10.0 s, 72.0 h');
  const widths = [...page.matchAll(/<rect class="bar"[^>]* width="([\d.]+)%"/g)].map(([, width]) => Number(width));
  expect(widths).toHaveLength(3);
  expect(widths[1]).toBeGreaterThan(40);
  // Even the shortest one has a line of its own.
  expect(page.match(/class="thin"/g)).toHaveLength(4);
  expect(page).not.toContain('NaN');
  const alone = message(ATTEMPTS.slice(0, 1));
  const short = pageOf({ ...alone, timeline: alone.timeline.slice(0, 2) });
  expect(short).not.toContain('long waits are cut');
});

test('commands have the events as a table', () => {
  const { title, content } = messageSheet({ at: T + 4 * DAY, account: 'a', message: message() });
  expect(sheetText(title, content, { color: false })).toMatch(/attempt 2 failed +.*timeout/);
});

test('the axis is monotonic from 0 to 100, and cuts no attempt', () => {
  const bar = fc.record({ from: fc.nat(1_000_000_000), length: fc.nat(10_000), isWait: fc.boolean() });
  fc.assert(
    fc.property(fc.array(bar, { minLength: 1, maxLength: 30 }), (given) => {
      const bars = given.map(({ from, length, isWait }) => ({
        from,
        to: from + length,
        look: isWait ? ('faint' as const) : ('ok' as const),
        text: '',
      }));
      const axis = axisOf(bars);
      const places = bars
        .flatMap(({ from, to }) => [from, to])
        .toSorted((a, b) => a - b)
        .map((at) => placeOf(at, axis));
      expect(places).toEqual(places.toSorted((a, b) => a - b));
      for (const place of places) expect(place >= 0 && place <= 100).toBe(true);
      const busy = bars.filter(({ look }) => look === 'ok');
      for (const cut of axis.cuts) expect(busy.some(({ from, to }) => from < cut.to && to > cut.from)).toBe(false);
      if (new Set(places).size > 1) expect([places[0], Math.round(places.at(-1)!)]).toEqual([0, 100]);
    }),
    {
      // The sum of a place and its distance to 100 is above 100 by a rounding.
      examples: [
        [
          [
            { from: 0, length: 5, isWait: false },
            { from: 57_170, length: 7139, isWait: false },
            { from: 14_296, length: 1, isWait: false },
          ],
        ],
      ],
    },
  );
});
