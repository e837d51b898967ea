/** All hostile responses. */
import { test } from 'vitest';
import { expectSafe } from '../support/hostile/expect-safe.ts';
import { HARMS } from '../support/hostile/harms.ts';

// oxlint-disable-next-line vitest/expect-expect -- expectSafe has them
test('hostile responses neither exceed the memory limit nor block the probes', { timeout: 1_200_000 }, () =>
  expectSafe(HARMS),
);
