/** The bytes of a response are freed after it was read, without waiting for the garbage collector. */
import { expect, test, vi } from 'vitest';
import { call, clientUnderTest, fixture } from './client-under-test.ts';

test.each([
  ['is understood', 200, fixture('list-logs')],
  ['is not what the interface promises', 200, '{"logs": 7}'],
  ['is an error', 404, '{"error": "not here"}'],
])('a response that %s', async (_what, status, body) => {
  const { message } = await clientUnderTest({
    answer: (_request, response) => void response.writeHead(status).end(body),
  });
  const transfer = vi.spyOn(ArrayBuffer.prototype, 'transfer');
  await message.listLogs({}, call).catch(() => undefined);
  const sizes = transfer.mock.calls.map(([size]) => size);
  const left = transfer.mock.contexts.map((buffer) => (buffer as ArrayBuffer).byteLength);
  expect(sizes.length).toBeGreaterThan(0);
  expect([...sizes, ...left].every((bytes) => bytes === 0)).toBe(true);
});
