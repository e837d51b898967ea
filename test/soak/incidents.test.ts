/** The outage with as many failed runs as justified the defaults of campaigns. */
import { expect, test } from 'vitest';
import { outageOf } from '../system/incident-outage.ts';

test('a destination is down for two hours, 5,000 runs fail, and it is repaired', { timeout: 3_600_000 }, async () => {
  await expect(outageOf(5_000)).resolves.toBeUndefined();
});
