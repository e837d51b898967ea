import { expect, test } from 'vitest';
import { damagesFound } from '../support/store-damage.ts';

test('damaged data pages are never accepted as valid numbers', { timeout: 3_600_000 }, async () => {
  expect(await damagesFound({ runs: 5_000 })).toBeGreaterThan(2_000);
});
