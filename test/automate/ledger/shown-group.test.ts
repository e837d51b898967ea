import { expect, test } from 'vitest';
import { haltKey, shownGroup } from '#automate/ledger/shown-group.ts';

test('groups whose URLs differ in possibly secret parts are shown as two, without these parts', () => {
  const [one, two] = ['https://a.example/x?tenant=1', 'https://a.example/x?tenant=2'];
  expect(shownGroup(one)).toMatch(/^https:\/\/a\.example\/x \([0-9a-f]{12}\)$/);
  expect(haltKey('p', one)).not.toBe(haltKey('p', two));
  expect(haltKey('p', 'https://a.example/x')).toBe('halted/p/https://a.example/x');
});
