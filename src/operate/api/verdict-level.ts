/** How the daemon is, and what is wrong. */

/**
 * `trouble`: something does not work. `attention`: something is held, reduced or unclear. `starting`: not ready yet.
 * `info`: what an operator decided, such as a pause.
 */
export const VERDICT_LEVELS = ['trouble', 'attention', 'starting', 'info', 'ok'] as const;
export type VerdictLevel = (typeof VERDICT_LEVELS)[number];

export interface Problem {
  readonly level: 'trouble' | 'attention' | 'info';
  readonly text: string;
  /** Which row of the page tells more: the id of its element. */
  readonly anchor?: string;
}

export interface Verdict {
  readonly level: VerdictLevel;
  readonly sentence: string;
  /** The worst first. */
  readonly problems: readonly Problem[];
}
