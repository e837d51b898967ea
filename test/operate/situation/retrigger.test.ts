/** State of the new run of a retrigger, from every combination of facts. */
import { expect, test } from 'vitest';
import type { MessageView } from '#operate/contract/messages.ts';
import { retriggerState } from '#operate/situation/retrigger.ts';

const NOW = Date.UTC(2026, 10, 27, 15);
const MINUTE = 60_000;

const retrigger = {
  dlqId: 'dlq-1',
  workflowRunId: 'opsd-1',
  workflowUrl: 'https://app.example.com/invoice?a=1&b=2',
  at: NOW - 10 * MINUTE,
  bodyBytes: 1,
  bodySha256: '0',
  isEdited: false,
};

function message(overrides: Partial<MessageView>): MessageView {
  return {
    account: 'a',
    messageId: 'm',
    traceId: 't',
    isOpen: false,
    labels: [],
    timeline: [],
    unknown: [],
    ...overrides,
  };
}

const delivered = (minutesAgo: number) => message({ outcome: 'delivered', endedAt: NOW - minutesAgo * MINUTE });
const open = message({ isOpen: true });

test.each([
  ['rejected', undefined, 'not_started', 'The service rejected it'],
  [undefined, { messages: [] }, 'unknown', 'The response of the service is pending'],
  ['accepted', undefined, 'unknown', 'The run was not read'],
  ['accepted', 'the budget is used', 'unknown', 'the budget is used'],
  ['accepted', { messages: [] }, 'unknown', 'The service accepted it. The log has no message of the new run'],
  [
    'unknown',
    { messages: [] },
    'unknown',
    "`opsd workflows trigger 'https://app.example.com/invoice?a=1&b=2' --workflow-run-id opsd-1 --body FILE`",
  ],
  ['unknown', { messages: [open] }, 'running', 'A message of the new run is open'],
  ['accepted', { messages: [delivered(9), open] }, 'running', 'is open'],
  [
    'accepted',
    { messages: [delivered(9), delivered(4)] },
    'running',
    'The new run has 2 messages in the log, and none is open. It has finished if no other one begins until 2026-11-27 15:01:00Z',
  ],
  [
    'accepted',
    { messages: [delivered(9), delivered(5)] },
    'finished',
    '`opsd dlq delete dlq-1 --queue workflow --reason TEXT` deletes this entry',
  ],
  ['unknown', { messages: [delivered(5)] }, 'finished', 'The new run has 1 message in the log'],
  ['accepted', { messages: [delivered(5)], isCut: true }, 'unknown', 'does not show that all messages'],
  ['accepted', { messages: [delivered(5), message({})] }, 'unknown', 'does not show that all messages'],
  [
    'accepted',
    { messages: [delivered(5), message({ outcome: 'cancelled', endedAt: NOW })] },
    'unknown',
    'does not show',
  ],
  [
    'accepted',
    { messages: [delivered(5), message({ outcome: 'failed', endedAt: NOW })] },
    'failed',
    '`opsd dlq show opsd-1`',
  ],
  ['accepted', { messages: [delivered(5)], failedAt: NOW, dlqId: 'dlq-2' }, 'failed', '`opsd dlq show dlq-2`'],
] as const)('outcome %s and the run %j: %s', (outcome, read, state, text) => {
  const given = { ...retrigger, ...(outcome !== undefined && { outcome }) };
  expect(retriggerState(given, read, NOW)).toEqual({ state, text: expect.stringContaining(text) });
});
