/**
 * What the voices of a daemon must not do at one moment: contradict each other, the books of the service, or what they
 * said before. Each rule compares two of them, and returns its contradictions with their subjects.
 */
import { parseExposition } from '../exposition.ts';
import type { Voices } from './ask.ts';
import { OUTAGE_RULES } from './outage-rules.ts';
import { POLICY_RULES } from './policy-rules.ts';
import type { Memory, Rule } from './rule.ts';
import type { VoicesWorld } from './world.ts';

export interface Contradiction {
  readonly rule: string;
  readonly subject: string;
  readonly said: string;
}

export const RULES: Readonly<Record<string, Rule>> = { ...OUTAGE_RULES, ...POLICY_RULES };

export function contradictions(voices: Voices, world: VoicesWorld, memory: Memory): Contradiction[] {
  const read = { ...voices, metrics: parseExposition(voices.metrics) };
  return Object.entries(RULES).flatMap(([rule, check]) =>
    check(read, world, memory).map(([subject, said]) => ({ rule, subject, said })),
  );
}
