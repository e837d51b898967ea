import { expect, test } from 'vitest';
import { parseTraceparent } from '#observe/tracing/traceparent.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

test.each([
  ['sampled', `00-${TRACE}-${SPAN}-01`, true],
  ['not sampled', `00-${TRACE}-${SPAN}-00`, false],
  ['other flags beside', `00-${TRACE}-${SPAN}-03`, true],
  ['a later version', `01-${TRACE}-${SPAN}-00`, false],
  ['a later version that goes on', `cc-${TRACE}-${SPAN}-01-what-the-future-brings`, true],
])('%s is read', (_what, header, sampled) => {
  expect(parseTraceparent(header)).toEqual({ traceId: TRACE, spanId: SPAN, sampled });
});

test.each([
  ['nothing', ''],
  ['version ff', `ff-${TRACE}-${SPAN}-01`],
  ['version 00 that goes on', `00-${TRACE}-${SPAN}-01-x`],
  ['a later version that goes on without a hyphen', `01-${TRACE}-${SPAN}-01x`],
  ['a trace id of zeroes', `00-${'0'.repeat(32)}-${SPAN}-01`],
  ['a span id of zeroes', `00-${TRACE}-${'0'.repeat(16)}-01`],
  ['upper case', `00-${TRACE.toUpperCase()}-${SPAN}-01`],
  ['a short trace id', `00-${TRACE.slice(1)}-${SPAN}-01`],
  ['a long span id', `00-${TRACE}-${SPAN}0-01`],
  ['no flags', `00-${TRACE}-${SPAN}`],
  ['a character that is not hex', `00-${TRACE}-${SPAN}-0g`],
  ['space around', ` 00-${TRACE}-${SPAN}-01`],
  ['a line break at the end', `00-${TRACE}-${SPAN}-01\n`],
])('%s is not a context', (_what, header) => {
  expect(parseTraceparent(header)).toBeUndefined();
});
