import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { workflowLabel } from '#foundation/domain/workflow-label.ts';
import { cleanLabel, destinationLabel, nameLabel, settled, workflowTemplate } from '#observe/metrics/labels.ts';

test('a clean label is short, well-formed, and of one line', () => {
  expect(cleanLabel('a\nb\u0000c\u007fd')).toBe('a b c d');
  expect(cleanLabel('\ud800x')).toBe('\ufffdx');
  expect(cleanLabel('x'.repeat(1_000))).toHaveLength(200);
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => cleanLabel(cleanLabel(text)) === cleanLabel(text)));
});

test.each([
  ['https://user:pass@api.example:8443/x?token=1', 'api.example:8443'],
  ['https://api.example:443/x', 'api.example'],
  ['billing-queue', 'billing-queue'],
  ['127.0.0.1:9000', '127.0.0.1:9000'],
  ['[::1]:9000', '[::1]:9000'],
  ['jane@example.com', ':id'],
  ['3f2504e0-4f89-11d3-9a0c-0305e82c3301', ':id'],
  ['https://', 'other'],
])('destination %s is %s', (destination, label) => {
  expect(destinationLabel(destination)).toBe(label);
});

describe('the template of a workflow', () => {
  test.each([
    ['https://app.example/api/workflows/order', 'app.example/api/workflows/order'],
    ['https://app.example/', 'app.example'],
    ['https://user:pass@app.example:8443/a?token=secret#part', 'app.example:8443/a'],
    ['https://app.example/orders/12345/steps/2', 'app.example/orders/:id/steps/:id'],
    ['https://app.example/t/3F2504E0-4F89-11D3-9A0C-0305E82C3301', 'app.example/t/:id'],
    ['https://app.example/c/deadbeef0123', 'app.example/c/:id'],
    ['https://app.example/c/9bX2kQ7LmN0pRs4T', 'app.example/c/:id'],
    ['https://app.example/c/run_8f3kq02mzp71', 'app.example/c/:id'],
    ['https://app.example/c/V1StGXR8_Z5jdHi6B-myT', 'app.example/c/:id'],
    ['https://app.example/u/jane@example.com', 'app.example/u/:id'],
    ['https://app.example/send-invoice-reminder-2/v2', 'app.example/send-invoice-reminder-2/v2'],
    ['https://app.example/facade/decade', 'app.example/facade/decade'],
    ['no url', 'other'],
  ])('of %s is %s', (url, label) => {
    expect(workflowLabel(url)).toBe(label);
  });

  test('contains no query, no user info and no number, whatever the URL', () => {
    fc.assert(
      fc.property(fc.webUrl({ withQueryParameters: true, withFragments: true }), fc.nat(), (url, id) => {
        const label = workflowLabel(url.replace('://', '://user:secret@').replace(/(?=[?#]|$)/, `/${id}`));
        expect(label).not.toMatch(/[?#]|user:secret/);
        expect(label.endsWith('/:id')).toBe(true);
      }),
    );
  });
});

test.each([
  ['tenant:42', 'tenant::id'],
  ['emails/jane@example.com/new', 'emails/:id/new'],
  ['+49 170 1234567', '+49 :id :id'],
  ['+491701234567', ':id'],
  ['order-12345', ':id'],
  ['shard-1', 'shard-1'],
  ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U', ':id'],
  ['https://user:pass@app.example/x?token=1', 'app.example'],
  ['nightly export', 'nightly export'],
])('the name %s is %s', (name, label) => {
  expect(nameLabel(name)).toBe(label);
});

test.each([
  ['app.example/orders/:id', 'app.example/orders/:id'],
  ['https://app.example/orders/17;v=2?x#y', 'app.example/orders/:id'],
  ['app.example:8080/u/12?token=1', 'app.example:8080/u/:id'],
  ['jane@example.com/x', 'other'],
  ['no url', 'other'],
])('the template of %s is %s', (workflow, label) => {
  expect(settled(workflowTemplate)(workflow)).toBe(label);
});

test('a cleaned label stays unchanged', () => {
  const part = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.webUrl({ withQueryParameters: true }),
    fc.emailAddress(),
    fc.uuid(),
    fc.nat().map(String),
    fc.constantFrom('host.example:8080', 'a/b', ':id', 'x?y=1', ';', ' '),
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 3 }), (parts) => {
      for (const clean of [destinationLabel, workflowTemplate, nameLabel].map(settled)) {
        const once = clean(parts.join(''));
        expect(clean(once)).toBe(once);
        expect(once).toBe(cleanLabel(once));
      }
    }),
    { numRuns: 1_000 },
  );
});
