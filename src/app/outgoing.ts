/** Outgoing data of the daemon: spans, notifications, and delivery events. */
import type { Config } from '#config/config.ts';
import type { EventBus } from '#foundation/events/events.ts';
import type { Engine } from '#automate/engine/engine.ts';
import type { Undertaking } from '#observe/tracing/daemon-spans.ts';
import { createDeliveryLog } from '#observe/tracing/delivery-log.ts';
import { createSpanExport, type SpanExport } from '#observe/tracing/spans.ts';
import type { StoredNotifications } from '#operate/notifications/notification-store.ts';
import { createNotifier } from '#operate/notifications/notifier.ts';
import type { UnsavedNotifications } from '#operate/notifications/unsaved-notifications.ts';
import type { DaemonOptions } from './options.ts';
import type { Parts } from '#foundation/platform/parts.ts';
import type { Storage } from './storage.ts';
import type { Stores } from './stores.ts';

interface OutgoingDeps {
  readonly config: Config;
  readonly options: DaemonOptions;
  readonly events: EventBus;
  readonly storage: Storage & Stores;
}

export interface Tracing {
  /** Absent if no endpoint is configured. */
  readonly spans: SpanExport | undefined;
  /** Runs the work inside a span of the daemon's own, if tracing is on. */
  readonly within: <T>(undertaking: Undertaking, work: () => Promise<T>) => Promise<T>;
}

/** @throws {Error} if the OTEL_* environment is invalid */
export async function startTracing(deps: OutgoingDeps, parts: Parts): Promise<Tracing> {
  const { config, options, events, storage } = deps;
  const spans = await createSpanExport({
    settings: config.telemetry.traces,
    env: options.env,
    events,
    clock: options.clock,
    version: options.version,
    outbox: storage.spans,
    failedRuns: async (account, workflowRunIds) => storage.ledger.resumedFrom(account, workflowRunIds),
  });
  options.onSpans(() => spans?.own.current());
  if (spans === undefined) return { spans, within: (_undertaking, work) => work() };
  parts.ending('span export', 5_000, async () => spans[Symbol.asyncDispose]());
  return { spans, within: (undertaking, work) => spans.own.during(undertaking, work) };
}

/** Starts notifications. The engine continues with the conditions that an earlier daemon reported. */
export function startNotifications(
  deps: OutgoingDeps & { readonly stored: StoredNotifications; readonly unsaved: UnsavedNotifications },
  engine: Engine,
  parts: Parts,
): void {
  const { config, options, events, storage, stored, unsaved } = deps;
  const { clock } = options;
  const store = storage.notifications;
  const shared = storage.replica;
  const replica = shared && {
    name: shared.name,
    isLeader: shared.isLeader(),
    owns: (account: string) => shared.owns(account),
  };
  const settings = config.notifications;
  const notifier = createNotifier({ settings, store, stored, unsaved, clock, events, replica });
  parts.ending('notifications', 2_000, async () => notifier[Symbol.asyncDispose]());
  engine.restore(
    notifier.activeConditions().map(({ at, isResolved: _isResolved, ...told }) => ({ ...told, since: at })),
  );
}

export function startDeliveryLines({ config, options, events, storage }: OutgoingDeps, parts: Parts): void {
  const { deliveryEvents: settings } = config.telemetry;
  if (settings === undefined) return;
  const lines = createDeliveryLog({ outbox: storage.deliveries, settings, clock: options.clock, events });
  parts.ending('lines about deliveries', 2_000, async () => lines[Symbol.asyncDispose]());
}
