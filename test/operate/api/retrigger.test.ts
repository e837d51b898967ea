/** What a retrigger sends, and which first bodies are unknown, with a scripted service. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { LogEntry } from '#foundation/domain/log-entry.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import { LiveReads } from '#operate/api/live-reads.ts';
import type { AskedOperation } from '#operate/operations/ports.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { deadLetter, run } from '../../observe/incidents/planted.ts';
import { ask, incidents, ledger, NOW, serving, world } from '../http/world.ts';

const URL = 'https://shop.example/flows/checkout';

interface Given {
  readonly entry?: Partial<WorkflowDlqEntry>;
  readonly row?: object;
  readonly log?: readonly Partial<LogEntry>[];
  readonly resumedFrom?: string;
  readonly isEndless?: boolean;
}

/** Retriggers the run with a scripted service. @returns the response, and what was sent */
async function retriggered(
  { entry, row = { body: '{}' }, log = [{}], resumedFrom, isEndless }: Given,
  more: object = {},
) {
  const sent: AskedOperation[] = [];
  const entries = log.map((one, index) => ({
    messageId: `m${index}`,
    time: NOW - 60_000,
    state: 'CREATED' as const,
    labels: [],
    url: URL,
    workflowRunId: 'wfr-dlq-1',
    ...one,
  }));
  const listed = run({ dlqId: 'dlq-1', workflowCreatedAt: NOW - 60_000, createdAt: NOW, ...entry });
  const deps = world({
    accounts: [{ name: 'production' }],
    incidents: incidents({
      deadLetters: () => [deadLetter({ dlqId: 'of-a-message' })],
      readRow: () => Promise.resolve(row as never),
    }),
    ledger: ledger({
      resumedFrom: async () => new Map(resumedFrom === undefined ? [] : [['wfr-dlq-1', resumedFrom]]),
    }),
    liveReads: new LiveReads({
      clock: { now: () => NOW } as never,
      usage: () => undefined,
      messageApi: () => ({
        listLogs: async ({ cursor = '0' }) => ({
          value: entries,
          dropped: 0,
          ...(isEndless === true && { cursor: `${Number(cursor) + 1}` }),
        }),
        listWorkflowDlq: async () => ({ value: [], dropped: 0 }),
      }),
    }),
    operate: async (_operation, asked) => {
      sent.push(asked);
      return { answer: { status: 200, contentType: undefined, body: Buffer.from('{}') }, notes: [] };
    },
  });
  deps.register('workflowDlq');
  deps.publish('workflowDlq', [listed]);
  const { address } = await serving(deps, { socketPath: join(tempDir(), 's') });
  const body = JSON.stringify({ id: 'dlq-1', confirm: 'dlq-1', reason: 'why', ...more });
  const answer = await ask(address, '/api/v1/retrigger', { method: 'POST', body });
  return { ...answer, sent };
}

test('a run keeps its labels, retries and failure callback, without stamps of the daemon', async () => {
  const entry = { labels: ['billing', 'opsd:here:lineage:1'], maxRetries: 2 };
  const { sent, status } = await retriggered(
    {
      entry,
      row: {
        failureCallback: 'https://shop.example/failed',
        header: { Tenant: 'acme', Authorization: 'Bearer of the publisher' },
      },
    },
    { body: Buffer.from('fixed').toString('base64') },
  );
  expect(status).toBe(200);
  expect(sent[0]!.given).toEqual({
    workflowUrl: URL,
    workflowRunId: expect.stringMatching(/^opsd-[\w-]{36}$/),
    body: Buffer.from('fixed'),
    label: ['billing'],
    retries: 2,
    failureCallback: 'https://shop.example/failed',
    forward: { Tenant: 'acme' },
  });
});

test.each<[string, Given]>([
  ['another message in the log', { log: [{}, {}] }],
  ['no message in the log', { log: [] }],
  ['a message without its creation', { log: [{ state: 'ERROR' }] }],
  ['a first message that is much newer than its run', { log: [{ time: NOW - 49_999 }] }],
  ['a run of unknown age', { entry: { workflowCreatedAt: undefined as never } }],
  ['a log that does not end', { isEndless: true }],
  ['a resumed run', { resumedFrom: 'wfr-0' }],
])('without another body, nothing is sent after %s', async (_what, facts) => {
  const { sent, status, text } = await retriggered(facts);
  expect([status, text]).toEqual([409, expect.stringContaining('the first body of the run is unknown')]);
  expect(sent).toEqual([]);
});

test('the body of the only message of a run is sent', async () => {
  const { sent } = await retriggered({ log: [{ time: NOW - 50_000 }] });
  expect(sent[0]).toMatchObject({ given: { body: Buffer.from('{}') }, retrigger: { isEdited: false, bodyBytes: 2 } });
});

test('a body of a message is larger than those of other commands', async () => {
  const body = Buffer.alloc(100_000, 'a');
  const { sent } = await retriggered({}, { body: body.toString('base64') });
  expect(sent[0]!.given).toMatchObject({ body });
});

test.each<[string, Given, object, string]>([
  ['a body that is no base64', {}, { body: 'YQ' }, 'body must be base64'],
  ['a message', {}, { id: 'of-a-message', confirm: 'of-a-message' }, 'is a message, no run'],
  [
    'a redacted header',
    { row: { body: '{}', header: { Tenant: 'REDACTED:0' } } },
    {},
    'a header of the run is redacted',
  ],
  [
    'unknown limits of flow control',
    { entry: { flowControlKey: 'bills' } },
    {},
    'limits of the flow-control key bills',
  ],
])('nothing is started for %s', async (_what, facts, more, message) => {
  const { sent, text } = await retriggered(facts, more);
  expect(text).toContain(message);
  expect(sent.filter(({ retrigger }) => retrigger !== undefined)).toEqual([]);
});
