/** Secrets of responses are masked, and nothing else changes. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { maskedJson, maskedTexts } from '#service/mask-secrets.ts';

const masked = (text: string): string => maskedJson(Buffer.from(text)).toString('utf8');

test.each([
  ['{ "token" : "abc", "id": "1" }\n', '{ "token" : "[secret]", "id": "1" }\n'],
  ['{"read_only_token":"a\\"b","name":"token"}', '{"read_only_token":"[secret]","name":"token"}'],
  ['{"to\\u006ben":"abc"}', '{"to\\u006ben":"[secret]"}'],
  ['[{"token":"abc"},{"deep":{"api_key":"x"}}]', '[{"token":"[secret]"},{"deep":{"api_key":"[secret]"}}]'],
  ['{"token":"","max_tokens":5,"next":"abc"}', '{"token":"","max_tokens":5,"next":"abc"}'],
  ['{"token":null,"name":"\\"token\\": \\"x\\""}', '{"token":null,"name":"\\"token\\": \\"x\\""}'],
  ['{"tokens":["a","b"],"n":1.0}', '{"tokens":"[secret]","n":1}'],
  ['"OK"', '"OK"'],
  ['{"token":"abc"', '[secret]'],
])('%s becomes %s', (text, expected) => {
  expect(masked(text)).toBe(expected);
});

test('no text of a secret field is left, and other JSON is unchanged to the byte', () => {
  const canary = 'canary-7f3';
  const document = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.string(),
      fc.double(),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(fc.string(), tie('value'), { maxKeys: 3 }),
    ),
  })).value;
  fc.assert(
    fc.property(document, fc.constantFrom('token', 'Read_Only_Token', 'client-secret'), (inner, name) => {
      const text = JSON.stringify({ before: inner, [name]: `${canary}"\\`, after: [inner] }, undefined, 1);
      expect(masked(text)).not.toContain(canary);
      expect(JSON.parse(masked(text))).toHaveProperty([name], '[secret]');
      const plain = JSON.stringify(inner);
      if (!/token|secret|password|credential|api_?key/i.test(plain)) expect(masked(plain)).toBe(plain);
    }),
  );
});

test('known credentials are masked wherever they are', () => {
  const body = Buffer.from('x my-long-credential y short');
  expect(maskedTexts(body, ['my-long-credential', 'short']).toString()).toBe('x [secret] y short');
  expect(maskedTexts(body, ['absent-credential'])).toBe(body);
});
