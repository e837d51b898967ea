/** Some of the hostile responses. The soak has all of them. */
import { expect, test } from 'vitest';
import { expectSafe } from '../support/hostile/expect-safe.ts';
import { HARMS } from '../support/hostile/harms.ts';

/** One for the parser, one for listings, one for connections. */
const SOME = new Set(['a row that nests', 'pages without end', 'long headers']);

test('hostile responses neither exceed the memory limit nor block the probes', async () => {
  const some = HARMS.filter(({ what }) => SOME.has(what));
  expect(some).toHaveLength(SOME.size);
  await expectSafe(some);
});
