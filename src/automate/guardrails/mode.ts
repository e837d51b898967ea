import type { AuthorityFacts } from './guard.ts';

/** Holds all requests in modes `off` and `audit`, even of an approved plan. Both modes still decide and record. */
export function mode({ mode }: AuthorityFacts): string | undefined {
  return mode === 'off' || mode === 'audit' ? `the mode is ${mode}: nothing is sent` : undefined;
}
