/** Events of the daemon, with plain values for everything that a test does not say. */
import type { EventOf } from '#foundation/events/events.ts';

const PLAIN = {
  'api.request': {
    account: 'prod',
    api: 'message',
    operation: 'list-logs',
    method: 'GET',
    url: 'https://eu.example/v2/logs',
    code: 200,
    durationMs: 120,
    bytes: 50,
  },
  'api.invalid_rows': { account: 'prod', operation: 'list-logs', count: 1, values: 0, example: 'x' },
  'collector.finished': { account: 'prod', collector: 'logs', at: 0, durationMs: 1 },
  'policy.run': {
    policy: 'resume',
    account: 'prod',
    at: 0,
    outcome: 'acted',
    matched: 5,
    acted: 3,
    backlog: 2,
    denials: [],
    evaluationErrors: 0,
    trigger: 'schedule',
  },
  'action.outcome': {
    policy: 'resume',
    account: 'prod',
    action: 'workflow-dlq.resume',
    target: 'dlq-1',
    outcome: 'accepted',
    items: 1,
    durationMs: 80,
  },
} as const satisfies { readonly [T in 'api.request']: Omit<EventOf<T>, 'type'> } & Readonly<Record<string, object>>;

export function event<T extends keyof typeof PLAIN>(type: T, more: Partial<Omit<EventOf<T>, 'type'>> = {}): EventOf<T> {
  return { type, ...PLAIN[type], ...more } as unknown as EventOf<T>;
}
