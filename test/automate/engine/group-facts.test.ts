/** Arrivals of a group, independent of other groups. Each entry counts once. */
import { expect, test } from 'vitest';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import { groupOf, Population } from '#automate/engine/decide/group-facts.ts';
import { policyOf } from '../../support/policies.ts';
import { START } from './world.ts';

const MINUTE = 60_000;
const entry = (dlqId: string, workflowUrl: string, minutesAgo: number): WorkflowDlqEntry => ({
  dlqId,
  workflowRunId: `wfr-${dlqId}`,
  workflowUrl,
  createdAt: START - minutesAgo * MINUTE,
  labels: [],
});

const INVOICE = 'https://app.example.com/invoice';
const MAIL = 'https://app.example.com/mail';
const seen = [entry('a', INVOICE, 1), entry('b', INVOICE, 10), entry('c', INVOICE, 11), entry('d', MAIL, 2)];
// The day before has 143 times 10 minutes in addition to the last ones.
const baseline = (count: number): number => count / 143;

test('by workflow, from the board and from the listing', () => {
  const policy = policyOf('workflow-dlq.resume');
  const listed = [seen[0]!, entry('e', MAIL, 1_440), entry('f', MAIL, 1_441)];
  const arrivals = new Population([listed, seen], START).arrivals((one) => groupOf(policy, one));
  expect(arrivals(INVOICE)).toEqual({ last10m: 2, last5m: 1, baseline10m: baseline(1) });
  expect(arrivals(MAIL)).toEqual({ last10m: 1, last5m: 1, baseline10m: baseline(1) });
  expect(arrivals('https://app.example.com/none')).toEqual({ last10m: 0, last5m: 0, baseline10m: 0 });
});

test('by destination', () => {
  const policy = policyOf('workflow-dlq.resume', { ramp: { groupBy: 'destination' } });
  const others = [entry('g', 'https://other.example.com/x', 1)];
  const arrivals = new Population([others, seen], START).arrivals((one) => groupOf(policy, one));
  expect(arrivals('app.example.com')).toEqual({ last10m: 3, last5m: 2, baseline10m: baseline(1) });
  expect(arrivals('other.example.com')).toEqual({ last10m: 1, last5m: 1, baseline10m: 0 });
});
