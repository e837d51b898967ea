import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isSampled, parseTraceparent, spanIdOf, traceIdOf, workflowTraceIdOf } from '#observe/tracing/trace-ids.ts';

/** Applications compute trace ids on their own, so these must never change. */
test('vectors', () => {
  expect(traceIdOf('production', 'msg_1')).toBe('04a17600d5dbeacdae4de8c05175adfa');
  expect(spanIdOf('production', 'msg_1', 'deliver')).toBe('599cd844c6ed473f');
  expect(spanIdOf('production', 'msg_1', 'attempt:1777896000000:0')).toBe('c964e66fc9ca56bf');
});

test('ids are valid, and differ when their inputs differ', () => {
  const name = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,20}$/);
  fc.assert(
    fc.property(name, fc.string(), name, fc.string(), (account, message, otherAccount, otherMessage) => {
      expect(traceIdOf(account, message)).toMatch(/^(?!0+$)[0-9a-f]{32}$/);
      expect(spanIdOf(account, message, 'deliver')).toMatch(/^(?!0+$)[0-9a-f]{16}$/);
      const isSame = account === otherAccount && message === otherMessage;
      expect(traceIdOf(account, message) === traceIdOf(otherAccount, otherMessage)).toBe(isSame);
    }),
  );
});

test('the sampled share is about the ratio, and grows with it', () => {
  const ids = Array.from({ length: 4_000 }, (_, index) => traceIdOf('production', `msg_${index}`));
  const share = (ratio: number): string[] => ids.filter((id) => isSampled(id, ratio));
  expect(share(0)).toHaveLength(0);
  expect(share(1)).toHaveLength(4_000);
  expect(share(0.1).length).toBeGreaterThan(320);
  expect(share(0.1).length).toBeLessThan(480);
  expect(share(0.5)).toEqual(expect.arrayContaining(share(0.1)));
});

test('the vectors of the documentation match a separate implementation', () => {
  const text = readFileSync(join(import.meta.dirname, '../../../docs/traces.md'), 'utf8');
  const rows = [...text.matchAll(/^\| (trace|workflow|span \S+) \| (\S+) \| (\S+) \| ([0-9a-f]+) \|$/gm)];
  expect(rows).toHaveLength(5);
  for (const [, of, account, id, value] of rows) {
    const [kind, part] = of!.split(' ');
    const lines = [`msgsvc-opsd/${kind}/v1`, account, ...(part === undefined ? [] : [part]), id];
    const digest = createHash('sha256').update(lines.join('\n'), 'utf8').digest('hex');
    expect(digest.slice(0, kind === 'span' ? 16 : 32)).toBe(value);
    const ours = { trace: traceIdOf, workflow: workflowTraceIdOf }[kind!] ?? ((a, m) => spanIdOf(a, m, part!));
    expect(ours(account!, id!)).toBe(value);
  }
});

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

test.each([
  ['sampled', `00-${TRACE}-${SPAN}-01`, true],
  ['not sampled', `00-${TRACE}-${SPAN}-00`, false],
  ['other flags beside', `00-${TRACE}-${SPAN}-03`, true],
  ['a later version', `01-${TRACE}-${SPAN}-00`, false],
  ['a later version that goes on', `cc-${TRACE}-${SPAN}-01-what-the-future-brings`, true],
])('a header with %s is read', (_what, header, sampled) => {
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
])('a header with %s is not a context', (_what, header) => {
  expect(parseTraceparent(header)).toBeUndefined();
});
