import { expect, test } from 'vitest';
import { forwardedHeaders } from '#service/parse/forwarded-headers.ts';

test.each([
  ['no headers', undefined, {}],
  [
    'marked ones, beside those of the publisher',
    {
      'Svc-Forward-Tenant': ['acme'],
      'svc-forward-authorization': 'Bearer x',
      'Content-Type': 'text/plain',
      Cookie: 'x',
      'Svc-Label': 'a',
    },
    { Tenant: 'acme', authorization: 'Bearer x', 'Content-Type': 'text/plain' },
  ],
  [
    'unmarked ones, without those of the service and of the transport',
    {
      Tenant: ['acme', 'other'],
      'SVC-Workflow-RunId': 'x',
      Host: 'a',
      'Content-Length': '1',
      'CF-Ray': '1',
      'X-Forwarded-For': '::1',
      Authorization: 'Bearer x',
    },
    { Tenant: 'acme, other' },
  ],
  ['a redacted value', { Tenant: [`REDACTED:${'0'.repeat(64)}`] }, undefined],
  ['a value that is no text', { Tenant: 7 }, undefined],
])('%s', (_what, header, forwarded) => {
  expect(forwardedHeaders(header, 'Svc-', (name) => name === 'authorization')).toEqual(forwarded);
});
