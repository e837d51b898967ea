import { expect, test } from 'vitest';
import { damagesFound } from '../support/store-damage.ts';

test('no damage of data pages is taken for good numbers', { timeout: 3_600_000 }, () => {
  expect(damagesFound({ runs: 5_000 })).toBeGreaterThan(2_000);
});
