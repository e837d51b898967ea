import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { readHookJson } from '#operate/hooks/hook-json.ts';
import { readJson } from '#operate/http/json-body.ts';

const nested = (depth: number): string => `{"more":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;
const wide = (values: number): string => `[${'0,'.repeat(values - 1)}0]`;

function requestOf(body: string): IncomingMessage {
  const request = new IncomingMessage(new Socket());
  request.push(body);
  request.push(null);
  return request;
}

describe.each([
  ['of the API', (body: string) => readJson(requestOf(body), z.unknown(), 'anything')],
  ['of a hook', (body: string) => readHookJson(requestOf(body), 1_000_000)],
])('a body %s', (_of, read) => {
  test('may nest 32 deep and no deeper', async () => {
    await expect(read(nested(32))).resolves.toBeDefined();
    await expect(read(nested(33))).rejects.toMatchObject({
      status: 400,
      message: 'The JSON is too complex: it has more than 32 levels.',
    });
  });
});

test('a body of a hook can have 100,000 values and no more', async () => {
  await expect(readHookJson(requestOf(wide(100_000)), 1_000_000)).resolves.toBeDefined();
  await expect(readHookJson(requestOf(wide(100_001)), 1_000_000)).rejects.toMatchObject({
    status: 400,
    message: 'The JSON is too complex: it has more than 100000 values.',
  });
});
