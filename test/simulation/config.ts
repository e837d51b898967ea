/** Configuration of the simulated daemon: every collector, and a policy of each action. The seed varies its intervals. */
import type { Random } from '#foundation/platform/random.ts';
import { ACCOUNT, HOOK_TOKEN, HOOKS, TOKEN } from './service.ts';

export const CAPS = {
  resume: { hour: 6, day: 60 },
  runDelete: { hour: 2, day: 20 },
  messageDelete: { hour: 2, day: 20 },
  attempts: 2,
} as const;

const EVERY = ['1m', '2m', '5m'];

export interface ConfigOf {
  readonly service: string;
  readonly receiver: string;
  readonly signingKey: string;
  readonly random: Random;
  /** Store and addresses of a replica; by default, those of a single daemon on SQLite. */
  readonly place?: Place;
}

interface Place {
  /** Settings of `storage`. */
  readonly storage: string;
  readonly port: number;
  readonly hooksPort: number;
}

const SINGLE: Place = { storage: 'sqlite: { path: opsd.db }', port: 8_080, hooksPort: 8_090 };

export function configOf({ service, receiver, signingKey, random, place = SINGLE }: ConfigOf): string {
  const every = (): string => EVERY[Math.floor(random() * EVERY.length)]!;
  const policy = (name: string): string => `name: ${name}, account: production, mode: enforce, every: ${every()}`;
  const limits = (caps: { hour: number; day: number }): string => `maxPerHour: ${caps.hour}, maxPerDay: ${caps.day}`;
  return `
server: { listen: "127.0.0.1:${place.port}" }
storage: { ${place.storage} }
telemetry: { metrics: { newSeriesZeroFor: 0s } }
accounts:
  - name: production
    messageApi: { url: "${service}", token: ${TOKEN} }
    managementApi: { url: "${service}", accountId: ${ACCOUNT}, username: user, password: password }
    collectors:
      logs: { every: ${every()}, lag: 5s }
      workflowDlq: { every: ${every()}, full: 10m }
      accountStats: { every: 10m }
      urlGroups: { every: 30m }
notifications: { webhook: { url: "${receiver}/room" } }
hooks:
  listen: 127.0.0.1:${place.hooksPort}
  callbacks: { production: { token: ${HOOK_TOKEN}, signingKeys: "${signingKey}", url: "http://${HOOKS}/hooks/callbacks/production" } }
policies:
  - { ${policy('resume-billing')}, select: { resource: workflow-dlq, anyLabel: [billing] },
      where: '!(has(entry.status) && entry.status == 404)', action: { type: workflow-dlq.resume, retries: 0 },
      ramp: { start: 2, settle: 1m },
      limits: { ${limits(CAPS.resume)}, attempts: { max: ${CAPS.attempts}, backoff: [1m] } } }
  - { ${policy('delete-gone')}, select: { resource: workflow-dlq, anyLabel: [billing] },
      where: 'has(entry.status) && entry.status == 404',
      action: { type: workflow-dlq.delete, archive: { dir: archive }, grace: 1h },
      limits: { ${limits(CAPS.runDelete)}, maxMatchedShare: 1 } }
  - { ${policy('delete-newsletter')}, select: { resource: message-dlq, anyLabel: [newsletter] },
      where: '"newsletter" in entry.labels', action: { type: message-dlq.delete },
      limits: { ${limits(CAPS.messageDelete)}, maxMatchedShare: 1 } }
`;
}
