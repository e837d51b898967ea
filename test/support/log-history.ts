/**
 * Random histories of messages with their true counts. The counts come from the messages, not from their entries. The
 * log aggregation must produce the same from any partition.
 */
import fc from 'fast-check';
import type { LogEntry, MessageState } from '#foundation/domain/log-entry.ts';
import type { CounterValue } from '#observe/aggregation/totals.ts';

export type HistoryEntry = LogEntry & { readonly state: MessageState };

type End = 'delivered' | 'failed' | 'failed twice told' | 'failed at once' | 'cancelled' | 'open';

export interface HistoryMessage {
  readonly messageId: string;
  readonly destination: string;
  readonly end: End;
  readonly entries: readonly HistoryEntry[];
  /** Failed attempts. */
  readonly errors: readonly { readonly reason: string; readonly code: string }[];
}

const TARGETS = [
  { destination: 'api.example.com', url: 'https://api.example.com/orders/17' },
  { destination: 'localhost:8080', url: 'http://localhost:8080/hook' },
  { destination: 'group-a', topicName: 'group-a', url: 'https://api.example.com/a' },
  { destination: 'queue-b', queueName: 'queue-b', url: 'https://b.example.com/' },
];

const ERRORS = [
  { responseStatus: 503, reason: 'http', code: '503' },
  { responseStatus: 404, error: 'not there', reason: 'http', code: '404' },
  { error: 'connect ECONNREFUSED 10.0.0.1:80', reason: 'connection', code: '' },
  { error: 'request timed out', reason: 'timeout', code: '' },
];

const ENDS: readonly End[] = ['delivered', 'failed', 'failed twice told', 'failed at once', 'cancelled', 'open'];

const messageShape = fc.record({
  start: fc.integer({ min: 0, max: 600_000 }),
  target: fc.constantFrom(...TARGETS),
  end: fc.constantFrom(...ENDS),
  retries: fc.array(fc.record({ error: fc.constantFrom(...ERRORS), wait: fc.integer({ min: 1, max: 120_000 }) }), {
    maxLength: 3,
  }),
  last: fc.constantFrom(...ERRORS),
  /** Milliseconds between one entry and the next. */
  step: fc.integer({ min: 1, max: 5_000 }),
});

/** Generates histories of up to `max` messages that begin within ten minutes after `from` (epoch milliseconds). */
export function histories(from: number, max = 25): fc.Arbitrary<HistoryMessage[]> {
  return fc
    .array(messageShape, { minLength: 1, maxLength: max })
    .map((shapes) => shapes.map((shape, n) => message(`msg-${n}`, from, shape)));
}

type Shape = typeof messageShape extends fc.Arbitrary<infer T> ? T : never;

function message(messageId: string, from: number, shape: Shape): HistoryMessage {
  const { destination, ...target } = shape.target;
  const entries: HistoryEntry[] = [];
  let time = from + shape.start;
  const log = (state: MessageState, more: Partial<LogEntry> = {}): void => {
    entries.push({ time, messageId, state, labels: [], ...target, ...more });
    time += shape.step;
  };
  const wire = ({ reason: _reason, code: _code, ...error }: (typeof ERRORS)[number]): Partial<LogEntry> => error;
  const errors: { reason: string; code: string }[] = [];
  log('CREATED', { traceparent: `00-${messageId}` });
  for (const { error, wait } of shape.retries) {
    log('ACTIVE');
    errors.push({ reason: error.reason, code: error.code });
    log('ERROR', { ...wire(error), nextDeliveryTime: time + wait });
    log('RETRY');
    time += wait;
  }
  switch (shape.end) {
    case 'delivered':
      log('ACTIVE');
      log('DELIVERED', { responseStatus: 200 });
      break;
    case 'failed':
    case 'failed twice told':
      log('ACTIVE');
      errors.push({ reason: shape.last.reason, code: shape.last.code });
      log('ERROR', wire(shape.last));
      if (shape.end === 'failed twice told') log('FAILED', wire(shape.last));
      break;
    case 'failed at once':
      log('ACTIVE');
      log('FAILED', wire(shape.last));
      break;
    case 'cancelled':
      log('CANCEL_REQUESTED');
      log('CANCELLED');
      break;
    case 'open':
  }
  return { messageId, destination, end: shape.end, entries, errors };
}

export function hasEnded(message: HistoryMessage): boolean {
  return message.end !== 'open';
}

/** Returns values by `metric label label…`, in the form of `countersOf`. */
export function truthOf(messages: readonly HistoryMessage[]): Record<string, number> {
  const truth: Record<string, number> = {};
  const add = (...name: readonly string[]): void => {
    const key = name.join(' ');
    truth[key] = (truth[key] ?? 0) + 1;
  };
  for (const { destination, end, entries, errors } of messages) {
    for (const entry of entries) add('msgsvc_log_events_total', entry.state);
    add('msgsvc_messages_created_total', destination);
    for (const error of errors) {
      add('msgsvc_message_attempts_total', destination);
      add('msgsvc_message_attempt_failures_total', destination, error.reason, error.code);
    }
    if (end === 'delivered') add('msgsvc_message_attempts_total', destination);
    if (end === 'cancelled') add('msgsvc_message_cancellations_total', destination);
    if (end !== 'open') add('msgsvc_messages_finished_total', destination);
    if (end.startsWith('failed')) {
      const last = end === 'failed at once' ? lastError(entries) : errors.at(-1)!;
      add('msgsvc_message_failures_total', destination, last.reason, last.code);
    }
  }
  return truth;
}

function lastError(entries: readonly HistoryEntry[]): { readonly reason: string; readonly code: string } {
  const { responseStatus, error } = entries.at(-1)!;
  return ERRORS.find((known) => known.responseStatus === responseStatus && known.error === error)!;
}

/** Returns the counters about messages, without those at 0. */
export function countersOf(counters: readonly CounterValue[]): Record<string, number> {
  const told = counters.filter(({ metric, value }) => metric.startsWith('msgsvc_') && value !== 0);
  return Object.fromEntries(told.map(({ metric, labels, value }) => [[metric, ...labels].join(' '), value]));
}

/** Returns deliveries and attempts. Each is either measured or counted as not joined. */
export function endsOf(messages: readonly HistoryMessage[]): { readonly delivered: number; readonly attempts: number } {
  const delivered = messages.filter(({ end }) => end === 'delivered').length;
  return { delivered, attempts: delivered + messages.reduce((sum, { errors }) => sum + errors.length, 0) };
}
