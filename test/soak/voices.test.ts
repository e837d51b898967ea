/** 20 stories of an account, in which no voice of the daemon may contradict another. */
import { expect, test } from 'vitest';
import { tellStory } from '../support/voices/story.ts';

const SEED = Number(process.env['SEED'] ?? 100);
const STORIES = Number(process.env['STORIES'] ?? 20);

test.each(Array.from({ length: STORIES }, (_, story) => SEED + story))(
  'no voice contradicts another, story %i',
  { timeout: 1_200_000 },
  async (seed) => {
    const { found, moments } = await tellStory(seed);
    expect(found).toEqual([]);
    expect(moments).toBeGreaterThan(10);
  },
);
