/** Requests of the control API, as docs/emulator-reference.md lists them, with the content of a valid body. */
import type { Field, Fields, FuzzOperation } from './operations.ts';
import type { FieldKind } from './wrong-values.ts';

const field = (kind: FieldKind, good?: string): Field => ({
  kind,
  ...(good !== undefined && { good }),
  required: false,
});
const needed = (kind: FieldKind, good: string): Field => ({ kind, good, required: true });

const account = field('text', '"{account}"');
const origin = { scheduleId: field('text'), queueName: field('text') };
const failures = field('failures', '[{"url":"http://127.0.0.1:1/x","count":2}]');

/** Fields of the body by method and path; none for an operation without a body. */
const BODIES: Readonly<Record<string, Fields | 'none'>> = {
  'GET state': 'none',
  'POST reset': {},
  'POST seed': {
    account,
    urlGroups: field('groups', '[]'),
    indexes: field('objects', '[]'),
    vectorIndexes: field('texts', '[]'),
    deadLetters: failures,
    failedRuns: failures,
    budgetUsd: field('whole', '0'),
    flowControlKeys: field('objects', '[]'),
    messages: field('objects', '[]'),
  },
  'GET clock': 'none',
  'POST clock': { mode: needed('choice', '"virtual"') },
  'POST clock/advance': { ms: needed('whole', '1000'), patienceMs: field('whole', '10') },
  'POST messages/next': { account, ...origin, times: field('count', '1') },
  'POST messages/{messageId}': { account, ...origin },
  'POST messages/{messageId}/cancel': { account },
  'POST workflow-dlq/{dlqId}/cancel-failure-function': { account },
  'POST accounts/{id}': {
    state: field('text', '"active"'),
    plan: field('choice', '"paid"'),
    enterpriseId: field('text'),
  },
  'POST flow-control/{key}': {
    account,
    paused: field('flag', 'false'),
    parallelism: field('countOrNull', 'null'),
    rate: field('rate', 'null'),
  },
  'GET switches': 'none',
  'POST switches': { logState: field('choice', '"present"'), endCursor: field('choice', '"absent"') },
  'GET faults': 'none',
  'POST faults': {
    operations: field('texts', '["none"]'),
    method: field('choice', '"GET"'),
    path: field('path', '"/none"'),
    skip: field('whole', '0'),
    times: field('count', '1'),
    probability: field('share', '0.5'),
    fault: needed('fault', '{"kind":"lost"}'),
  },
  'DELETE faults': {},
  'DELETE faults/{fault}': {},
  'GET requests': 'none',
  'DELETE requests': {},
  'POST destinations': { place: needed('place', '"fuzz.example"'), steps: needed('steps', '[503,200]') },
  'GET destinations/{host}/requests': 'none',
  'DELETE destinations': {},
  'DELETE destinations/{host}': {},
};

export const CONTROL_OPERATIONS: readonly FuzzOperation[] = Object.entries(BODIES).map(([operation, body]) => {
  const [method, path] = operation.split(' ') as [string, string];
  return {
    name: `control ${operation}`,
    api: 'control',
    method,
    path: `/-/emulator/${path}`,
    takesRest: false,
    query: {},
    headers: {},
    body,
  };
});
