import type { AuthorityFacts } from './guard.ts';

/** `approve` waits for a person. */
export function approval({ mode }: AuthorityFacts): string | undefined {
  return mode === 'approve' ? 'waits for the approval of a person' : undefined;
}
