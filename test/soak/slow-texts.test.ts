/** Runs the search for slow texts for SOAK_SECONDS (default 180), from new seeds. A failure names its seed. */
import { expect, test } from 'vitest';
import { slowTexts } from '../support/slow-texts.ts';

const SECONDS = Number(process.env['SOAK_SECONDS'] ?? 180);

test('no text of others takes longer than its length allows', { timeout: (SECONDS + 120) * 1_000 }, () => {
  const end = performance.now() + SECONDS * 1_000;
  for (let seed = Date.now(); performance.now() < end; seed++) {
    expect(slowTexts(seed, 50), `seed ${seed}`).toEqual([]);
  }
});
