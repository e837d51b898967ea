import { expect, test } from 'vitest';
import { redactCredentials } from '#automate/actions/redact-credentials.ts';
import { isSecretInsteadOfPath } from '#config/secret-keys.ts';
import { slowMs, slowTexts } from '../support/slow-texts.ts';

test('no text of others takes longer than its length allows', () => {
  expect(slowTexts(28, 15)).toEqual([]);
});

test('references that are not closed take no longer than their length allows', () => {
  expect(slowMs((text) => isSecretInsteadOfPath('tokenFile', text), '${%;{')).toBeUndefined();
});

test('beginnings of tokens take no longer than their length allows', () => {
  expect(slowMs((text) => redactCredentials({ header: { Location: text } }), 'eyJ-')).toBeUndefined();
});

test('the search finds a quadratic pattern', () => {
  const pattern = /[. ]+$/;
  const found = slowTexts(28, 1, { pattern: ({ length }) => `${'.'.repeat(length)}x`.replace(pattern, '') });
  expect(found).toMatchObject([{ reader: 'pattern' }]);
});
