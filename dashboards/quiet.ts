/**
 * Queries that rightly show nothing while all is well. Tests hold this list to a real Prometheus over the demo: what is
 * not here shows something there, what is here does not, and its fault fills it.
 */

/** What goes wrong, or is done, so that there is something to show. */
export type Fault = 'spending' | 'reload' | 'pause' | 'outage' | 'refusal' | 'hooks' | 'raise' | 'hours';

export interface Quiet {
  readonly because: string;
  readonly filledBy: Fault;
  /** The demo has such a fault of its own after some minutes: it may show something there. */
  readonly inDemo?: true;
}

const NO_FILE: Quiet = { because: 'the demo has no file to load again', filledBy: 'reload' };
const NO_HOUR: Quiet = { because: 'nothing can be compared before a whole hour is counted', filledBy: 'hours' };
const NOBODY: Quiet = { because: 'nobody is configured to be told', filledBy: 'outage' };
const NO_HOOK: Quiet = { because: 'no hook is configured', filledBy: 'hooks' };
const LASTS: Quiet = { because: 'the budget lasts until the end of the month', filledBy: 'spending' };

const HELPS: Quiet = { because: 'what policies resume does not fail again', filledBy: 'outage', inDemo: true };

/** The outage makes alerts fire, after minutes: they are looked for last. */
const NO_ALERT: Quiet = { because: 'no alert fires', filledBy: 'hours', inDemo: true };

/** By dashboard (`*` for every one), and `panel/TITLE/QUERY` or `annotation/NAME`. */
export const QUIET: Readonly<Record<string, Quiet>> = {
  'opsd-overview/panel/Firing alerts, the worst first/A': NO_ALERT,
  'opsd-overview/panel/Firing alerts, the worst first/B': NO_ALERT,
  '*/annotation/Pauses': { because: 'nobody has paused anything', filledBy: 'pause' },
  '*/annotation/Reloads': NO_FILE,
  '*/annotation/Halted groups': HELPS,
  '*/annotation/Budget raises': {
    because: 'an increase is seen from the second raise on, where the first is told at once as in the demo',
    filledBy: 'raise',
  },
  'opsd-spend/panel/Budget gone in/A': LASTS,
  'opsd-policies/panel/Groups halted/A': HELPS,
  'opsd-policies/panel/What holds a policy?/A': HELPS,
  'opsd-flow-control/panel/Failed runs held, by key/A': HELPS,
  'opsd-workflows/panel/Runs held by flow-control key/A': HELPS,
  'opsd-policies/panel/Runs that alerts and callbacks asked for/A': NO_HOOK,
  'opsd-daemon/panel/Daemons/C': NO_FILE,
  'opsd-daemon/panel/Daemons/D': NO_FILE,
  'opsd-daemon/panel/Log against statistics/A': NO_HOUR,
  'opsd-daemon/panel/Do log and statistics agree?/A': NO_HOUR,
  'opsd-daemon/panel/Why sources fail/A': { because: 'no source fails', filledBy: 'refusal' },
  'opsd-daemon/panel/Throttled, retried, invalid/C': {
    because: 'every row is understood',
    filledBy: 'refusal',
  },
  'opsd-daemon/panel/What could not be kept or told/C': NOBODY,
  'opsd-daemon/panel/What could not be kept or told/D': NOBODY,
  'opsd-daemon/panel/What could not be kept or told/G': NO_HOOK,
  'opsd-daemon/panel/What could not be kept or told/H': NO_HOOK,
  'opsd-daemon/panel/What waits to be told/A': NOBODY,
  'opsd-daemon/panel/Hooks, notifications and traces/A': NO_HOOK,
  'opsd-daemon/panel/Hooks, notifications and traces/B': NOBODY,
};
