/** Change of the configuration while the daemon runs. */
import type { ReloadState } from './reloader.ts';
import type { Config } from '#config/config.ts';
import type { Engine } from '#automate/engine/engine.ts';
import { otlpEndpoint } from '#observe/tracing/otlp-endpoint.ts';
import { portOf, tryAddresses } from './addresses.ts';
import { modeCeiling } from './automation.ts';
import type { EventBus } from '#foundation/events/events.ts';
import { compilePolicy } from '#automate/policies/compile-policy.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import { assertNotExpired, type ListenerSecurities } from './listener-security.ts';
import type { Storage } from './storage.ts';

/** Current daemon, as its successor sees it. */
interface Present {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly storage: Pick<Storage, 'check'>;
  readonly security: ListenerSecurities;
  readonly clock: Clock;
  /** Its addresses. */
  readonly addresses: readonly (string | undefined)[];
}

/**
 * Checks everything that a daemon with another configuration needs, while the current one keeps running.
 *
 * @throws {Error} with a message for the operator
 */
export async function rehearse(next: Config, { env, storage, security, clock, addresses }: Present): Promise<void> {
  assertNotExpired(security, next, clock.now());
  modeCeiling(env['OPSD_MODE']);
  otlpEndpoint(next.telemetry.traces, env);
  for (const { settings, source } of next.policies) compilePolicy(settings, source);
  await storage.check(next);
  await tryAddresses(
    next,
    addresses.flatMap((address) => (address === undefined ? [] : [portOf(address)])),
  );
}

/** @param by requester of the reload that has just failed */
export function tellOfReload(
  state: ReloadState,
  { engine, events }: { readonly engine: Engine; readonly events: EventBus },
  by?: string,
): void {
  const { ok, problems, auditOnly } = state;
  if (ok) {
    engine.others.resolve('reload');
    return;
  }
  if (by !== undefined) events.emit({ type: 'config.reload_failed', by, problems, auditOnly });
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : '';
  const effect = auditOnly
    ? 'the previous policies run in audit, so no actions are sent'
    : 'the previous configuration stays active';
  engine.others.raise({
    key: 'reload',
    severity: auditOnly ? 'critical' : 'warning',
    summary: 'The configuration reload failed',
    detail: `${problems[0] ?? 'reason unknown'}${more}; until it is fixed, ${effect}`,
  });
}
