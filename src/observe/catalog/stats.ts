/** Metrics of the statistics counting itself (`opsd_stats_*`). */
import { counter, family, gauge } from './metric-spec.ts';

const SOURCE = ['source'] as const;
const mirrored = { mirrored: true } as const;

export const statsReader = family(
  { heading: 'Statistics counting', account: true },
  {
    opsd_stats_points_total: counter(
      SOURCE,
      'items',
      'derived',
      'Points of the statistics that were counted, in minutes.',
      { ...mirrored, debug: true },
    ),
    opsd_stats_points_backfilled_total: counter(
      SOURCE,
      'items',
      'derived',
      'Counted points that were older than one interval of the collector, after an outage or a restart.',
      { ...mirrored, debug: true },
    ),
    opsd_stats_points_revised_total: counter(
      SOURCE,
      'items',
      'derived',
      'Points that changed after they were counted; if this grows, raise settleDelay.',
      mirrored,
    ),
    opsd_stats_points_missed_total: counter(
      SOURCE,
      'items',
      'derived',
      'Points that are not counted because they were never served or were partly counted before.',
      mirrored,
    ),
    opsd_stats_corrections_total: counter(
      SOURCE,
      'items',
      'derived',
      'Decreases of a monthly total within its month, which its counter does not follow.',
      { ...mirrored, debug: true },
    ),
  },
);

export const statsPoints = family(
  { heading: 'Statistics checks', account: true, collector: 'accountStats' },
  {
    opsd_stats_point_timestamp_seconds: gauge(
      ['source', 'series'],
      'timestamp',
      'x',
      'Unix timestamp of the newest counted point.',
      { merge: 'min' },
    ),
    opsd_stats_points_day_ratio: gauge(
      ['source'],
      'as served',
      'derived',
      "Sum of today's points divided by today's value in the daily arrays; 1 if collectors.accountStats.points is correct.",
    ),
    opsd_stats_points_misread: gauge(
      ['source'],
      'flag',
      'derived',
      "1 if today's points and today's value differ by more than late points explain, else 0. Then collectors.accountStats.points is wrong.",
    ),
    opsd_reconciliation_ratio: gauge(
      ['source', 'state'],
      'as served',
      'self check',
      'Count of a source for the last whole hour divided by the count of the log, by message state; 1 if they agree.',
    ),
    opsd_reconciliation_gap: gauge(
      ['source', 'state'],
      'flag',
      'self check',
      '1 if source and log differed by more than rounding, to the same side, in two consecutive hours, else 0.',
    ),
  },
);
