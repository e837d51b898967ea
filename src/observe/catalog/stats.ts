/** `opsd_stats_*`: the counting of statistics about itself. */
import { counter, family, gauge } from './metric-spec.ts';

const SOURCE = ['source'] as const;
const mirrored = { mirrored: true } as const;

export const statsReader = family(
  { heading: 'Counting of statistics', account: true },
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
      'Of these, points older than one interval of the collector: after an outage or a restart.',
      { ...mirrored, debug: true },
    ),
    opsd_stats_points_revised_total: counter(
      SOURCE,
      'items',
      'derived',
      'Points that read otherwise after they were counted; raise settleDelay when this grows.',
      mirrored,
    ),
    opsd_stats_points_missed_total: counter(
      SOURCE,
      'items',
      'derived',
      'Points that were never served, or of which it cannot be told what was counted already. Their amount is in no counter.',
      mirrored,
    ),
    opsd_stats_corrections_total: counter(
      SOURCE,
      'items',
      'derived',
      'Falls of a monthly total within its month, which its counter does not follow.',
      { ...mirrored, debug: true },
    ),
  },
);

export const statsPoints = family(
  { heading: 'Statistics, how far they are counted', account: true, collector: 'accountStats' },
  {
    opsd_stats_point_timestamp_seconds: gauge(
      ['source', 'series'],
      'timestamp',
      'x',
      'Time of the newest point that was counted.',
      { merge: 'min' },
    ),
    opsd_stats_points_day_ratio: gauge(
      ['source'],
      'as served',
      'derived',
      "Today's points together, over what the daily arrays say of today; 1 when collectors.accountStats.points is set right.",
    ),
    opsd_stats_points_misread: gauge(
      ['source'],
      'flag',
      'derived',
      'Whether the two differ by more than late points explain, 1 or 0: then collectors.accountStats.points is set wrong.',
    ),
    opsd_reconciliation_ratio: gauge(
      ['source', 'state'],
      'as served',
      'self check',
      'What a source counted of the last whole hour, over what the log counted, by state of the message; 1 when they agree.',
    ),
    opsd_reconciliation_gap: gauge(
      ['source', 'state'],
      'flag',
      'self check',
      'Whether the two differ by more than rounding explains, to the same side, in two hours in a row, 1 or 0.',
    ),
  },
);
