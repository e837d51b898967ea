/**
 * Each documented call of the public client of such a service, as record.mjs recorded it: it succeeds, and its response
 * has the fields that the client reads; or the interface does not have it, and the reference lists it.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { preparedEmulator } from './client/prepared.ts';

interface RecordedCall {
  readonly call: string;
  /** Fields of the response, such as `0.messageId`. */
  readonly reads?: readonly string[];
  /** Absent for a call that sends nothing. */
  readonly request?: {
    readonly method: string;
    readonly path: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
  };
  readonly status?: number;
}

const read = (path: string): string => readFileSync(join(import.meta.dirname, path), 'utf8');

const CALLS = read('client/calls.jsonl')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as RecordedCall);

function isOutside({ status }: RecordedCall): boolean {
  return status === 404 || status === 405;
}

test.each(CALLS.filter(({ request }) => request !== undefined))('$call', async ({ request, status, reads = [] }) => {
  const emulator = await preparedEmulator({ headerPrefix: 'Acme' });
  onTestFinished(() => emulator.stop());
  const { method, path, headers, body } = request!;
  const response = await fetch(emulator.url + path, {
    method,
    headers: { ...headers, Authorization: 'Bearer token' },
    ...(method !== 'GET' && { body }),
  });
  const text = await response.text();
  expect({ status: response.status, text }).toEqual({ status, text: expect.any(String) });
  if (status !== 200) return;
  const json: unknown = text === '' ? undefined : JSON.parse(text);
  const missing = reads.filter((field) => fieldOf(json, field) === undefined);
  expect(missing).toEqual([]);
});

function fieldOf(value: unknown, field: string): unknown {
  return field.split('.').reduce((inner, name) => (inner as Record<string, unknown> | undefined)?.[name], value);
}

test('each call succeeds, or is outside of the interface', () => {
  const others = CALLS.filter((call) => call.request !== undefined && call.status !== 200 && !isOutside(call));
  expect(others).toEqual([]);
  expect(CALLS.filter(({ status }) => status === 200).length).toBeGreaterThan(25);
});

/** Returns `dlq.retry`, or `dlq.delete(dlqId)` if other arguments succeed. */
function nameOf(call: string): string {
  const [whole, name] = /^((?:\w+\.)*\w+(?:\(\{ queueName: 'slow' \}\)\.\w+)?)\(/.exec(call)!.map(bare);
  const alike = CALLS.filter((one) => bare(one.call).startsWith(whole!));
  return alike.every(isOutside) ? name! : bare(call);
}

function bare(text: string): string {
  return text.replace("({ queueName: 'slow' })", '()');
}

test('docs/emulator-reference.md lists each call outside of the interface', () => {
  const names = new Set(CALLS.filter(isOutside).map(({ call }) => nameOf(call)));
  const rows = Object.entries(Object.groupBy(names, (name) => name.split(/\.\w+(?:\(\w.*|\(\{.*)?$/)[0]!)).map(
    ([owner, calls]) => `- \`${owner}\`: ${calls!.map((name) => `\`${name.slice(owner.length + 1)}\``).join(', ')}`,
  );
  const section = read('../../docs/emulator-reference.md').split('\n## Calls of the public client\n')[1];
  expect(section?.split('\n## ')[0]?.match(/^- `.*$/gm)).toEqual(rows);
});
