/** Advice about a flow-control key is given only where facts support it. */
import { expect, test } from 'vitest';
import { flowControlAdvice } from '#operate/situation/flow-control.ts';

const KEY = { flowControlKey: 'k', waitListSize: 3, parallelismMax: 2, rateMax: 10, ratePeriod: 60 };
const history = (waiting: number, idle: number) =>
  [...Array<number>(waiting).fill(4), ...Array<number>(idle).fill(0)].map((waitListSize) => ({ waitListSize }));

test.each([
  [
    'parallelism',
    {},
    history(9, 1),
    /^Messages waited in 90 % .*, and parallelism 2 is used fully\. If .* no 429, publish with a higher parallelism\.$/,
  ],
  ['parallelism', { isPinnedParallelism: true }, history(10, 0), /pin a higher parallelism\.$/],
  [
    'rate',
    {},
    history(5, 5),
    /^Messages waited in 50 % .*, and the rate of 10 in 60 s is used fully\. .* publish with a higher rate\.$/,
  ],
  ['rate', { isPinnedRate: true }, history(10, 0), /pin a higher rate\.$/],
  ['paused', {}, [], /^Nothing is delivered until the key is resumed\.$/],
] as const)('%s %j', (constraint, more, readings, expected) => {
  expect(flowControlAdvice({ ...KEY, ...more }, constraint, readings)).toMatch(expected);
});

test.each([
  ['too few readings', 'parallelism', history(9, 0)],
  ['messages seldom wait', 'parallelism', history(4, 6)],
  ['no limit is visible', 'other', history(10, 0)],
  ['nothing waits', undefined, history(10, 0)],
] as const)('%s: none', (_why, constraint, readings) => {
  expect(flowControlAdvice(KEY, constraint, readings)).toBeUndefined();
});
