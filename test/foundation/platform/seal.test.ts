/** The seal of contents: its keys, and what does not open. */
import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { openBytes, sealBytes, sealKeysOf } from '#foundation/platform/seal.ts';

const PLACE = 'production\0dlq-1';
const [one, two] = [randomBytes(32), randomBytes(32)];
const [key, other] = sealKeysOf(`${one.toString('hex')}\n${two.toString('hex')}\n`);

describe('keys', () => {
  test('are lines of 32 bytes, as hexadecimal or base64, with one id for both forms', () => {
    const text = `${one.toString('hex').toUpperCase()}\r\n\n  ${one.toString('base64')}\n${two.toString('base64')}\n`;
    const keys = sealKeysOf(text);
    expect(keys.map(({ bytes }) => Buffer.from(bytes))).toEqual([one, one, two]);
    expect(keys.map(({ id }) => id)).toEqual([key!.id, key!.id, other!.id]);
    expect(key!.id).toMatch(/^[0-9a-f]{8}$/);
    expect(key!.id).not.toBe(other!.id);
    // The id of other uses of the key is another one.
    expect(key!.id).not.toBe(createHash('sha256').update(one).digest('hex').slice(0, 8));
  });

  test.each([
    ['a short key', one.subarray(1).toString('hex')],
    ['a long key', `${one.toString('hex')}00`],
    ['a short key in base64', one.subarray(1).toString('base64')],
    ['no base64', `${one.toString('base64').slice(0, 42)}!=`],
    ['a password', 'correct horse battery staple'],
  ])('%s is an error that names the line and not its content', (_what, line) => {
    let message = '';
    try {
      sealKeysOf(`${two.toString('hex')}\n${line}\n`);
    } catch (error) {
      message = String(error);
    }
    expect(message).toBe('Error: line 2 is no key: 32 bytes, as hexadecimal or base64');
  });
});

describe('a content', () => {
  test.each([
    ['0 bytes', Buffer.alloc(0)],
    ['text', Buffer.from('{"a":1}')],
    ['binary', Buffer.from([0, 255, 10, 13, 0])],
    ['1 MiB', randomBytes(1_048_576)],
  ])('of %s opens with its key in its row', (_what, content) => {
    const sealed = sealBytes(content, key!.bytes, PLACE);
    expect(sealed).toHaveLength(content.length + 28);
    expect(Buffer.from(openBytes(sealed, key!.bytes, PLACE))).toEqual(content);
    if (content.length > 4) expect(Buffer.from(sealed).includes(content)).toBe(false);
  });

  test('is sealed with a nonce of its own', () => {
    const sealed = [1, 2].map(() => Buffer.from(sealBytes(Buffer.from('same'), key!.bytes, PLACE)).toString('hex'));
    expect(sealed[0]!.slice(0, 24)).not.toBe(sealed[1]!.slice(0, 24));
    expect(sealed[0]!.slice(56)).not.toBe(sealed[1]!.slice(56));
  });

  test.each([
    ['another key', other!, PLACE],
    ['another dead letter', key!, 'production\0dlq-2'],
    ['another account', key!, 'staging\0dlq-1'],
  ])('does not open with %s', (_what, opening, place) => {
    expect(() => openBytes(sealBytes(Buffer.from('body'), key!.bytes, PLACE), opening.bytes, place)).toThrow(
      /unable to authenticate/,
    );
  });

  test('does not open after a change of any byte, nor cut', () => {
    const sealed = sealBytes(Buffer.from('body'), key!.bytes, PLACE);
    for (let index = 0; index < sealed.length; index++) {
      const changed = Uint8Array.from(sealed);
      changed[index]! ^= 1;
      expect(() => openBytes(changed, key!.bytes, PLACE)).toThrow(/unable to authenticate|Invalid/);
      expect(() => openBytes(sealed.subarray(0, index), key!.bytes, PLACE)).toThrow(/unable to authenticate|Invalid/);
    }
  });
});
