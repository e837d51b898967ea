/** Configuration of the simulated daemon: every collector and policy. The seed varies its intervals, and changes it. */
import type { Random } from '#foundation/platform/random.ts';
import { BUDGET, POLICIES, policyText } from './policies.ts';
import { ACCOUNT, ALERT_TOKEN, HOOK_TOKEN, HOOKS } from './service.ts';
import { STAGING } from './staging.ts';

const EVERY = ['1m', '2m', '5m'];

/** Files beside the configuration. */
export const TOKEN_FILE = 'token';
export const KEY_FILE = 'bodies-key';
export const KEY = 'ab'.repeat(32);

export interface ConfigOf {
  readonly service: string;
  readonly receiver: string;
  readonly signingKey: string;
  readonly random: Random;
  /** Canaries of the account; absent in most histories. */
  readonly canaries?: string | undefined;
  /** True if there is a second account. */
  readonly hasStaging?: boolean;
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

/** Difference from the first configuration. */
export interface Edit {
  /** Policy that is removed. */
  readonly without?: string;
  /** Policy whose caps are lowered to one action. */
  readonly lowered?: string;
}

export function configOf(of: ConfigOf, edit: Edit = {}): string {
  const { service, receiver, signingKey, random, canaries, hasStaging = false, place = SINGLE } = of;
  const every = (): string => EVERY[Math.floor(random() * EVERY.length)]!;
  const policies = policiesOf(of)
    .filter((name) => name !== edit.without)
    .map((name) => policyText(name, every, name === edit.lowered ? { hour: 1, day: 1 } : POLICIES[name]!.caps));
  return `
server: { listen: "127.0.0.1:${place.port}" }
storage: { ${place.storage} }
telemetry: { metrics: { newSeriesZeroFor: 0s } }
accounts:
  - name: production
    messageApi: { url: "${service}", tokenFile: ${TOKEN_FILE} }
    managementApi: { url: "${service}", accountId: ${ACCOUNT}, username: user, password: password }
    budget: { knownUsd: ${BUDGET.knownUsd}, assertedOn: 2026-11-20 }
    deadLetters: { bodies: { keyFile: ${KEY_FILE} } }
${canaries === undefined ? '' : `    canaries: ${canaries}\n`}    collectors:
      logs: { every: ${every()}, lag: 5s }
      workflowDlq: { every: ${every()}, full: 10m }
      accountStats: { every: 10m }
      urlGroups: { every: 30m }
${hasStaging ? stagingOf(service) : ''}notifications: { webhook: { url: "${receiver}/room" } }
hooks:
  listen: 127.0.0.1:${place.hooksPort}
${canaries === undefined ? '' : `  publicUrl: "http://${HOOKS}"\n`}  alertmanager: { opsd: { token: ${ALERT_TOKEN} } }
  callbacks: { production: { token: ${HOOK_TOKEN}, signingKeys: "${signingKey}", url: "http://${HOOKS}/hooks/callbacks/production" } }
policies:
${policies.join('\n')}
`;
}

/** Returns the names of the policies. */
export function policiesOf({ hasStaging = false }: Pick<ConfigOf, 'hasStaging'>): readonly string[] {
  return Object.keys(POLICIES).filter((name) => hasStaging || POLICIES[name]!.account === undefined);
}

function stagingOf(service: string): string {
  return `  - name: ${STAGING.name}
    messageApi: { url: "${service}", token: ${STAGING.token} }
    collectors: { logs: { every: 1m, lag: 5s }, workflowDlq: { every: 1m, full: 10m } }
`;
}

/** Wrong edit: an unknown action. */
export function broken(text: string): string {
  return text.replace('type: message-dlq.prune', 'type: message-dlq.purge');
}
