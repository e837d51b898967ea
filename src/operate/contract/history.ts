/** History of numbers, for charts. Field names are stable. */
import { z } from 'zod';
import { choiceField, textParameter } from './parameters.ts';
import { route } from './route.ts';
import * as s from './schema.ts';

export const HISTORY_SPANS = ['1h', '3h', '24h', '7d', '35d'] as const;
export type HistorySpan = (typeof HISTORY_SPANS)[number];

const MARK_KINDS = ['incident', 'configuration', 'deploy', 'halt', 'repair'] as const;

const BEFORE =
  'Minutes before the log is counted are from the statistics of the service, which cover an hour and include canaries.';

/** A point is null if it is unknown: not counted yet, without a reading, or unknown for one of the accounts. */
const points = (description: string) => s.listOf(s.orNull(s.number()), description);

const series = s.object({
  created: points(`Created messages. ${BEFORE}`),
  delivered: points(`Delivered messages, by the time of the delivery. ${BEFORE}`),
  failed: points('Messages that finally failed.'),
  retried: points('Failed attempts that are retried.'),
  p95Seconds: points('95th percentile of the time from due to delivered. Null if nothing was delivered.'),
  inFlight: points('Messages in flight, the highest reading.'),
  failedRuns: points('Runs in the workflow DLQ, the highest reading.'),
  deadLetters: points('Known entries of the message DLQ, the highest reading.'),
  spendUsd: points('US dollars billed in the month, the highest reading.'),
  verified: points('Actions that were verified.'),
  failedAgain: points('Actions whose runs failed again.'),
});

export const getHistory = route('GET /api/v1/history', {
  id: 'getHistory',
  summary: 'History of an account, or of all, in points of one length',
  role: 'viewer',
  query: z.strictObject({
    account: textParameter('Only this account.'),
    span: choiceField(HISTORY_SPANS).default('3h').describe('Length of the period.'),
  }),
  answer: s.object({
    at: s.time(),
    from: s.time('Start of the first point.'),
    to: s.time('End of the last point.'),
    stepMs: s.span('Length of a point.'),
    series,
    // Ten keys with the most messages, of one account only: empty for several ones.
    flowControl: s.listOf(s.object({ flowControlKey: s.text(), waitListSize: points('Waiting messages.') })),
    marks: s.listOf(
      s.object({
        at: s.time(),
        kind: s.choice(MARK_KINDS),
        text: s.text(),
        path: s.opt(s.text('Page, or address of the page about the deploy.')),
      }),
      'Events of the period, oldest first: the 30 newest ones.',
    ),
  }),
  errors: [404, 503],
});
export type HistoryView = s.Infer<typeof getHistory.answer>;
export type HistoryMark = HistoryView['marks'][number];
