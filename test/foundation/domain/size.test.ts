import { expect, test } from 'vitest';
import { formatSize, parseSize } from '#foundation/domain/size.ts';

test.each([
  ['0B', 0],
  ['512B', 512],
  ['1KiB', 1_024],
  ['1MiB', 1_048_576],
  ['1.5GiB', 1_610_612_736],
  ['1', undefined],
  ['1 MiB', undefined],
  ['1MB', undefined],
  ['-1KiB', undefined],
  ['1e3B', undefined],
])('%s is %s bytes', (text, bytes) => {
  expect(parseSize(text)).toBe(bytes);
});

test.each([
  [0, '0 B'],
  [1_023, '1023 B'],
  [1_024, '1 KiB'],
  [1_536, '1.5 KiB'],
  [1_048_576, '1 MiB'],
  [5 * 1_024 ** 4, '5120 GiB'],
])('%s bytes are written %s', (bytes, text) => {
  expect(formatSize(bytes)).toBe(text);
});
