/**
 * Stories of an account, in which no voice of the daemon contradicts another one: status, incidents, plans, policies,
 * dead letters, conditions, explanations, metrics, command line and pages, beside the service's own books.
 */
import { expect, test } from 'vitest';
import { RULES } from '../support/voices/rules.ts';
import { tellStory } from '../support/voices/story.ts';

test.each([1, 2])('no voice contradicts another, story %i', { timeout: 600_000 }, async (seed) => {
  const { found, comparisons, proven } = await tellStory(seed);
  expect(found).toEqual([]);
  expect(comparisons).toBeGreaterThan(5_000);
  // A rule that does not find an altered answer of this story is no check.
  expect(Object.keys(RULES).filter((rule) => !proven.has(rule))).toEqual([]);
});
