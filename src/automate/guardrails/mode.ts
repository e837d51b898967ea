import type { AuthorityFacts } from './guard.ts';

/** `off` and `audit` decide and record; they send nothing, whoever approved it. */
export function mode({ mode }: AuthorityFacts): string | undefined {
  return mode === 'off' || mode === 'audit' ? `the mode is ${mode}: nothing is sent` : undefined;
}
