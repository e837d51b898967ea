import { describe, expect, test } from 'vitest';
import { destinationOf, storableUrl } from '#observe/aggregation/destination.ts';

describe('the destination of an entry', () => {
  test.each([
    [{ url: 'https://api.example.com/orders/17?x=1' }, 'api.example.com'],
    [{ url: 'https://API.example.com:443/' }, 'api.example.com'],
    [{ url: 'http://localhost:8080/hook' }, 'localhost:8080'],
    [{ url: 'https://user:pw@api.example.com/' }, 'api.example.com'],
    [{ url: 'https://[::1]:9000/' }, '[::1]:9000'],
    [{ queueName: 'jobs', url: 'https://api.example.com' }, 'jobs'],
    [{ topicName: 'group', queueName: 'jobs', url: 'https://api.example.com' }, 'group'],
    [{ topicName: '', queueName: '', url: 'https://api.example.com' }, 'api.example.com'],
    [{ url: 'not a url' }, undefined],
    [{}, undefined],
  ])('%o', (entry, expected) => {
    expect(destinationOf(entry)).toBe(expected);
  });
});

describe('a URL that may be stored', () => {
  test.each([
    ['https://user:pw@example.com/a?page=2#x', 'https://example.com/a?page=2'],
    [
      'https://example.com/?access_token=abc&X-Amz-Signature=def',
      'https://example.com/?access_token=REDACTED&X-Amz-Signature=REDACTED',
    ],
    ['https://example.com/?token=a&token=b', 'https://example.com/?token=REDACTED'],
    ['https://example.com/?monkey=1', 'https://example.com/?monkey=1'],
    ['no url', undefined],
  ])('%s', (text, expected) => {
    expect(storableUrl(text)).toBe(expected);
  });
});
