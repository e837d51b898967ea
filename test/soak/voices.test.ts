/** Stories of an account from SEED on, in which no voice of the daemon may contradict another. */
import { expect, test } from 'vitest';
import { tellStory } from '../support/voices/story.ts';

const SEED = Number(process.env['SEED'] ?? 100);
const STORIES = Number(process.env['STORIES'] ?? 20);

test.each(Array.from({ length: STORIES }, (_, story) => SEED + story))(
  'no voice contradicts another, story %i',
  { timeout: 1_200_000 },
  async (seed) => {
    const { found, steps, moments, comparisons } = await tellStory(seed);
    process.stderr.write(`story ${seed}: ${moments} moments, ${comparisons} comparisons: ${steps.join(', ')}\n`);
    expect(found).toEqual([]);
  },
);
