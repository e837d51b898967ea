/** Overall state of the daemon, and its problems. */

/**
 * `trouble`: something does not work. `attention`: something is held, reduced or unclear. `starting`: not ready yet.
 * `info`: an operator's decision, such as a pause.
 */
export const VERDICT_LEVELS = ['trouble', 'attention', 'starting', 'info', 'ok'] as const;
export type VerdictLevel = (typeof VERDICT_LEVELS)[number];

export interface Problem {
  readonly level: 'trouble' | 'attention' | 'info';
  readonly text: string;
  /** Id of the page's element with more details. */
  readonly anchor?: string;
}

export interface Verdict {
  readonly level: VerdictLevel;
  readonly sentence: string;
  /** Most severe first. */
  readonly problems: readonly Problem[];
}
