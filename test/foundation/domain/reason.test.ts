import { expect, test } from 'vitest';
import { failureCause, failureReason } from '#foundation/domain/reason.ts';

test.each([
  [503, undefined, 'http', 'transient'],
  [500, 'connection refused', 'http', 'transient'],
  [429, undefined, 'http', 'quota'],
  [404, undefined, 'http', 'permanent'],
  [422, 'validation', 'http', 'permanent'],
  [302, undefined, 'http', 'unknown'],
  [undefined, undefined, 'no_response', 'transient'],
  [0, '', 'no_response', 'transient'],
  [undefined, 'getaddrinfo ENOTFOUND app.example', 'dns', 'transient'],
  [undefined, 'lookup app.example: no such host', 'dns', 'transient'],
  [undefined, 'x509: certificate has expired', 'tls', 'transient'],
  [undefined, 'remote error: tls: handshake failure', 'tls', 'transient'],
  [undefined, 'connect ECONNREFUSED 127.0.0.1:80', 'connection', 'transient'],
  [undefined, 'connect ETIMEDOUT', 'timeout', 'transient'],
  [undefined, 'context deadline exceeded', 'timeout', 'transient'],
  [undefined, 'the moon was in the wrong house', 'other', 'unknown'],
] as const)('status %s and error %j: %s, %s', (status, error, reason, cause) => {
  expect(failureReason(status, error)).toBe(reason);
  expect(failureCause(status, error)).toBe(cause);
});
