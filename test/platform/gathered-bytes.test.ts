import fc from 'fast-check';
import { expect, test } from 'vitest';
import { GatheredBytes } from '../../src/platform/gathered-bytes.ts';

test('chunks of any size become one body', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 40_000 }), { maxLength: 12 }), (chunks) => {
      const gathered = new GatheredBytes();
      for (const chunk of chunks) gathered.add(chunk);
      const whole = Buffer.concat(chunks);
      expect(gathered.length).toBe(whole.length);
      expect(gathered.take().equals(whole)).toBe(true);
    }),
    { numRuns: 200 },
  );
});
