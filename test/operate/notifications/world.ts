/** A notifier over a store in memory and a receiver on loopback, on a stopped clock. */
import { onTestFinished } from 'vitest';
import type { Notification } from '#foundation/domain/notification.ts';
import type { NotificationStore } from '#operate/notifications/notification-store.ts';
import { createNotifier, type Notifier } from '#operate/notifications/notifier.ts';
import { notificationSettings, type NotificationSettings } from '#operate/notifications/settings.ts';
import { logEvents } from '#foundation/events/event-log.ts';
import { EventBus, type OpsEvent } from '#foundation/events/events.ts';
import { createLogger } from '#foundation/platform/logger.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { createNotificationStore } from '#storage/notification-store.ts';
import { httpSink, type HttpSink } from '../../support/http-sink.ts';
import { memoryStore } from '../../support/memory-store.ts';
import { until } from '../../support/until.ts';

export const NOW = Date.UTC(2026, 10, 18, 10, 30, 0);

/** A hold that began at `NOW`. */
export const NOTIFICATION: Notification = {
  key: 'held/resume-billing',
  severity: 'warning',
  policy: 'resume-billing',
  account: 'production',
  owner: 'payments',
  guard: 'quota',
  summary: 'quota holds resume-billing',
  detail: 'The account answered 429.',
  at: NOW,
  isResolved: false,
};

/** Waits until a receiver got so many requests. */
export function came(sink: HttpSink, count: number): Promise<true> {
  return until({ what: `${count} notifications` }, () => sink.requests.length >= count || undefined);
}

/** Starts a notifier with one receiver, which responds with this status. */
export async function receiverWorld(
  receiver: 'webhook' | 'alertmanager',
  status = 200,
  headers: Readonly<Record<string, string>> = {},
) {
  const sink = await httpSink((_request, response) => void response.writeHead(status, headers).end());
  const world = notificationWorld();
  const notifier = await world.start({ [receiver]: { url: sink.url } });
  return { ...world, sink, notifier };
}

export function notificationWorld() {
  const opened = memoryStore();
  const { db } = opened;
  const clock = new ManualClock(NOW);
  const events = new EventBus();
  const said: OpsEvent[] = [];
  const log: string[] = [];
  events.subscribe((event) => void said.push(event));
  const logger = createLogger({ level: 'debug', destination: { write: (line) => void log.push(line) } });
  logEvents(events, logger);
  const real = createNotificationStore(opened);
  const broken: { isBroken: boolean; until?: Promise<void> } = { isBroken: false };
  const store: NotificationStore = {
    ...real,
    async save(changes) {
      await broken.until;
      if (broken.isBroken) throw new Error('disk full');
      await real.save(changes);
    },
  };
  return {
    db,
    clock,
    events,
    said,
    log,
    /** Failure of the store, and what its writes wait for. */
    broken,
    store,
    start: async (settings: Readonly<Record<string, unknown>>): Promise<Notifier> => {
      const parsed: NotificationSettings = notificationSettings.parse(settings);
      const notifier = createNotifier({ settings: parsed, store, stored: await store.load(), clock, events });
      onTestFinished(() => notifier[Symbol.asyncDispose]());
      return notifier;
    },
    tell: (notification: Partial<Notification> = {}): void => {
      events.emit({ type: 'notification', ...NOTIFICATION, at: clock.now(), ...notification });
    },
    /** One turn: raised conditions are in the store, and senders know them. */
    turn: (): Promise<void> => clock.advance(0),
    /** Waits until the sender waits for this time, and lets it pass. */
    pass: async (ms: number): Promise<void> => {
      await until({ what: `the wait of ${ms} ms` }, () => clock.nextIn === ms);
      await clock.advance(ms);
    },
    lost: () =>
      said.flatMap((event) => (event.type === 'notification.dropped' ? [`${event.receiver} ${event.reason}`] : [])),
  };
}
