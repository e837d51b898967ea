/** Dead letters with known incidents: eight kinds, three of them at the same time, and noise. */
import { kindOfDeadLetter, kindOfRun } from '#observe/incidents/incident-kinds.ts';
import type { DeadLetterReading } from '#observe/incidents/incident-book.ts';
import type { DeadLetter } from '#foundation/domain/dead-letter.ts';
import { isStamp } from '#foundation/domain/lineage.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';

export const START = Date.UTC(2026, 10, 20, 2, 0, 0);
const MINUTE = 60_000;

export function run(overrides: Partial<WorkflowDlqEntry> & { readonly dlqId: string }): WorkflowDlqEntry {
  return {
    workflowRunId: `wfr-${overrides.dlqId}`,
    workflowUrl: 'https://shop.example/flows/checkout',
    createdAt: START,
    labels: [],
    responseStatus: 503,
    ...overrides,
  };
}

export function deadLetter(overrides: Partial<DeadLetter> & { readonly dlqId: string }): DeadLetter {
  return {
    account: 'production',
    messageId: `msg-${overrides.dlqId}`,
    learnedAt: START,
    url: 'https://crm.vendor.example/hooks/orders',
    status: 500,
    labels: [],
    ...overrides,
  };
}

export function readingOfRuns(
  rows: readonly WorkflowDlqEntry[],
  overrides: Partial<DeadLetterReading<WorkflowDlqEntry>> = {},
): DeadLetterReading<WorkflowDlqEntry> {
  return {
    account: 'production',
    queue: 'workflow',
    rows,
    idOf: ({ dlqId }) => dlqId,
    atOf: ({ createdAt }) => createdAt,
    kindOf: kindOfRun,
    isOwn: () => false,
    isRefailed: ({ labels }) => labels.some(isStamp),
    completeFrom: -Infinity,
    at: START + 24 * 60 * MINUTE,
    ...overrides,
  };
}

export function readingOfDeadLetters(rows: readonly DeadLetter[]): DeadLetterReading<DeadLetter> {
  return {
    account: 'production',
    queue: 'message',
    rows,
    idOf: ({ dlqId }) => dlqId,
    atOf: ({ learnedAt }) => learnedAt,
    kindOf: kindOfDeadLetter,
    isOwn: () => false,
    isRefailed: () => false,
    completeFrom: -Infinity,
    at: START + 24 * 60 * MINUTE,
  };
}

export interface Planted {
  readonly runs: readonly WorkflowDlqEntry[];
  readonly deadLetters: readonly DeadLetter[];
  /** Name of the planted incident of each dead letter, by dlqId. */
  readonly truth: ReadonlyMap<string, string>;
}

/** Each text has values that differ from one failure to the next. */
const RUN_KINDS: Readonly<Record<string, (n: number) => Partial<WorkflowDlqEntry>>> = {
  // These three overlap in time.
  'checkout 503': (n) => ({ createdAt: START + n * MINUTE, responseText: `upstream 10.0.0.${n}:8080 is unavailable` }),
  'checkout 500': (n) => ({
    createdAt: START + n * MINUTE + 500,
    responseStatus: 500,
    responseText: `TypeError: cannot read "item-${n}" of cart ${n * 7919}`,
  }),
  'invoice 503': (n) => ({
    createdAt: START + n * MINUTE + 900,
    workflowUrl: `https://shop.example/flows/invoice/${n + 10_000}`,
    responseText: `upstream 10.0.1.${n}:8080 is unavailable`,
  }),
  // The same fault as the first, after a gap of exactly 30 minutes.
  'checkout 503 again': (n) => ({
    createdAt: START + (39 + 30 + n) * MINUTE,
    responseText: `upstream 10.0.0.${n}:8080 is unavailable`,
  }),
  'invoice timeout': (n) => ({
    createdAt: START + 300 * MINUTE + n * 20 * MINUTE,
    workflowUrl: `https://shop.example/flows/invoice/${n}`,
    responseStatus: undefined,
    responseText: `timed out after ${n + 20}s`,
  }),
  'billing rejected': (n) => ({
    createdAt: START + n * 1_000,
    workflowUrl: 'https://billing.example/charge',
    responseStatus: 422,
    responseText: `{"error":{"code":"card_declined","charge":"ch_${n}ab${n}"}}`,
  }),
};

const MESSAGE_KINDS: Readonly<Record<string, (n: number) => Partial<DeadLetter>>> = {
  'crm 500': (n) => ({ learnedAt: START + n * MINUTE, url: `https://crm.vendor.example/hooks/${n}` }),
  'mail 429': (n) => ({ learnedAt: START + n * MINUTE, url: 'https://mail.example/send', status: 429 }),
};

/** @param size dead letters of each kind */
export function planted(size = 40): Planted {
  const truth = new Map<string, string>();
  const runs: WorkflowDlqEntry[] = [];
  const deadLetters: DeadLetter[] = [];
  const numbers = Array.from({ length: size }, (_, n) => n);
  for (const [name, fields] of Object.entries(RUN_KINDS)) {
    for (const n of numbers) {
      const { responseStatus, ...entry } = run({ dlqId: `${name}-${n}`, ...fields(n) });
      runs.push({ ...entry, ...(responseStatus !== undefined && { responseStatus }) });
      truth.set(`${name}-${n}`, name);
    }
  }
  for (const [name, fields] of Object.entries(MESSAGE_KINDS)) {
    for (const n of numbers) {
      deadLetters.push(deadLetter({ dlqId: `${name}-${n}`, ...fields(n) }));
      truth.set(`${name}-${n}`, name);
    }
  }
  // Noise: single failures, each of its own kind.
  for (const n of numbers) {
    const name = `noise-${n}`;
    const letters = String.fromCharCode(97 + (n % 26), 97 + Math.floor(n / 26));
    runs.push(
      run({
        dlqId: name,
        createdAt: START + n * 7 * MINUTE,
        workflowUrl: `https://noise-${letters}.example/flow`,
        responseStatus: 400 + (n % 4),
      }),
    );
    truth.set(name, name);
  }
  return { runs, deadLetters, truth };
}
