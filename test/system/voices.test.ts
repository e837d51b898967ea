/**
 * Stories of an account, in which no voice of the daemon contradicts another one: status, incidents, plans, policies,
 * dead letters, conditions, explanations, metrics, command line and pages, beside the service's own books.
 */
import { expect, test } from 'vitest';
import { RULES } from '../support/voices/rules.ts';
import { tellStory } from '../support/voices/story.ts';

test('no voice contradicts another', async () => {
  const { found, comparisons, proven } = await tellStory(1);
  expect(found).toEqual([]);
  expect(comparisons).toBeGreaterThan(5_000);
  // A rule that does not find an altered answer of this story is no check.
  expect(Object.keys(RULES).filter((rule) => !proven.has(rule))).toEqual([]);
});
