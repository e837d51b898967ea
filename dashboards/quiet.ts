/**
 * Queries that are empty while all is well. Tests compare this list with a real Prometheus on the demo. Queries not in
 * the list show data there, listed ones do not, and their fault fills them.
 */

/** Fault or operation that produces data. */
export type Fault =
  | 'spending'
  | 'reload'
  | 'deploy'
  | 'pause'
  | 'outage'
  | 'refusal'
  | 'hooks'
  | 'raise'
  | 'hours'
  | 'day';

export interface Quiet {
  readonly because: string;
  readonly filledBy: Fault;
  /** True if the demo produces such a fault itself after some minutes and may show data. */
  readonly inDemo?: true;
}

const NO_FILE: Quiet = { because: 'the demo has no file to reload', filledBy: 'reload' };
const NO_HOUR: Quiet = { because: 'nothing can be compared before a whole hour is counted', filledBy: 'hours' };
const YOUNG_DAY: Quiet = {
  because: 'the points of a day cannot be compared in its first two hours (UTC)',
  filledBy: 'day',
  inDemo: true,
};
const NOBODY: Quiet = { because: 'no notification receiver is configured', filledBy: 'outage' };
const NO_HOOK: Quiet = { because: 'no alert and no callback arrives', filledBy: 'hooks' };
const LASTS: Quiet = { because: 'the budget lasts until the end of the month', filledBy: 'spending' };

const HELPS: Quiet = { because: 'runs resumed by policies do not fail again', filledBy: 'outage', inDemo: true };

/** The outage makes alerts fire after minutes, so they are checked last. */
const NO_ALERT: Quiet = { because: 'no alert fires', filledBy: 'hours', inDemo: true };

/** Entries by dashboard (`*` for all), and `panel/TITLE/QUERY` or `annotation/NAME`. */
export const QUIET: Readonly<Record<string, Quiet>> = {
  'opsd-overview/panel/Firing alerts, the worst first/A': NO_ALERT,
  'opsd-overview/panel/Firing alerts, the worst first/B': NO_ALERT,
  '*/annotation/Deploys': { because: 'no deploy is reported before the fix of the tour', filledBy: 'deploy' },
  '*/annotation/Pauses': { because: 'nothing is paused', filledBy: 'pause' },
  '*/annotation/Reloads': NO_FILE,
  '*/annotation/Halted groups': HELPS,
  '*/annotation/Budget raises': {
    because: 'an increase is visible only from the second raise on if the first is exported at once, as in the demo',
    filledBy: 'raise',
  },
  'opsd-spend/panel/Budget exhausted in/A': LASTS,
  'opsd-policies/panel/Groups halted/A': HELPS,
  'opsd-policies/panel/Holds by guard/A': HELPS,
  'opsd-flow-control/panel/Failed runs by key/A': HELPS,
  'opsd-workflows/panel/Failed runs by flow-control key/A': HELPS,
  'opsd-policies/panel/Runs requested by alerts and callbacks/A': NO_HOOK,
  'opsd-daemon/panel/Daemons/C': NO_FILE,
  'opsd-daemon/panel/Daemons/D': NO_FILE,
  'opsd-daemon/panel/Log and statistics, largest difference/A': NO_HOUR,
  'opsd-daemon/panel/Log and statistics, ratio of counts/A': NO_HOUR,
  'opsd-daemon/panel/Log and statistics, ratio of counts/B': YOUNG_DAY,
  'opsd-daemon/panel/Source failures by reason/A': { because: 'no source fails', filledBy: 'refusal' },
  'opsd-daemon/panel/Throttled, retried, invalid/C': {
    because: 'every row is valid',
    filledBy: 'refusal',
  },
  'opsd-daemon/panel/Failures and losses/C': NOBODY,
  'opsd-daemon/panel/Failures and losses/D': NOBODY,
  'opsd-daemon/panel/Failures and losses/G': NO_HOOK,
  'opsd-daemon/panel/Failures and losses/H': NO_HOOK,
  'opsd-daemon/panel/Pending notifications and spans/A': NOBODY,
  'opsd-daemon/panel/Hooks, notifications and traces/B': NOBODY,
};
