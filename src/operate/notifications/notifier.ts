/**
 * Sends `notification` events as notifications: by a webhook, by Alertmanager, or both. It never delays the sender of an
 * event, and notifications survive a restart.
 */
import { rememberSecrets } from '#foundation/domain/known-secrets.ts';
import type { Notification } from '#foundation/domain/notification.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { EventBus } from '#foundation/events/events.ts';
import { clientOf } from '#foundation/platform/client-pair.ts';
import { createHttpPost } from '#foundation/platform/http-post.ts';
import { Secret } from '#foundation/platform/secret.ts';
import { sleep } from '#foundation/platform/sleep.ts';
import { sendToAlertmanager } from './alertmanager.ts';
import { NotificationBook } from './notification-book.ts';
import type { NotificationStore, StoredNotifications } from './notification-store.ts';
import type { Receiver } from './receiver.ts';
import { adoptStopped, ofProcess, ofReplica, type NotifyingReplica } from './replica.ts';
import type { UnsavedNotifications } from './unsaved-notifications.ts';
import type { NotificationSettings, ReceiverSettings } from './settings.ts';
import { Bell } from './bell.ts';
import { sendToWebhook } from './webhook.ts';
import { storeEnd } from './will.ts';

const TIMEOUT_MS = 10_000;
const SAVE_AGAIN_MS = 5_000;
const LONGEST_WAIT_MS = 3_600_000;

export interface NotifierDeps {
  readonly settings: NotificationSettings;
  readonly store: Pick<NotificationStore, 'save' | 'ofStoppedReplicas'>;
  /** Content of the store. */
  readonly stored: StoredNotifications;
  /** Changes that an earlier notifier of the process could not save. */
  readonly unsaved?: UnsavedNotifications | undefined;
  readonly clock: Clock;
  readonly events: EventBus;
  /** Absent if the process has the store for itself. */
  readonly replica?: NotifyingReplica | undefined;
}

export interface Notifier extends AsyncDisposable {
  /** Active conditions, oldest first: for pages, and for the engine after a restart. */
  activeConditions(): readonly Notification[];
}

export function createNotifier({ settings, store, stored, unsaved, clock, events, replica }: NotifierDeps): Notifier {
  const alertmanager = settings.alertmanager && {
    ...settings.alertmanager,
    receiver: receiverOf('alertmanager', settings.alertmanager),
  };
  const webhooks = webhooksOf(settings);
  const book = new NotificationBook({
    store,
    stored,
    unsaved: unsaved?.take(),
    receivers: [...webhooks.keys()],
    events,
    keepsEnded: alertmanager !== undefined,
    owns: replica?.owns,
    infoAfterMs: settings.infoAfter,
    now: clock.now(),
    will: ofReplica(storeEnd(clock.now()), replica),
    receiverOf: ({ owner }) => [`webhook/${owner}`, 'webhook'].find((name) => webhooks.has(name)),
  });
  const post = createHttpPost({ clock, timeoutMs: TIMEOUT_MS });
  const stop = new AbortController();
  const senders: Promise<unknown>[] = [];

  function send<R>(sender: (bell: Bell) => Promise<R>, writes?: 'all' | 'failed'): void {
    const bell = new Bell(clock);
    if (writes !== 'failed') book.onNews(() => bell.ring());
    if (replica !== undefined && writes !== undefined) {
      book.onWrite((hasFailed) => {
        if (hasFailed || writes === 'all') bell.ring();
      });
    }
    // It only ends with the stop.
    senders.push(sender(bell).catch(() => undefined));
  }

  const shared = { book, post, clock, events, signal: stop.signal };
  for (const receiver of webhooks.values()) send((bell) => sendToWebhook({ ...shared, receiver, bell }), 'all');
  if (alertmanager !== undefined) {
    const { receiver, resendEvery: resendMs, labels } = alertmanager;
    send((bell) => sendToAlertmanager({ ...shared, receiver, bell, resendMs, labels }));
  }
  send(async (bell) => {
    for (;;) await bell.wait(Math.min(book.tellDue(clock.now()) - clock.now(), LONGEST_WAIT_MS), stop.signal);
  });
  // The next change repeats a failed write as well, but may be late.
  const saveAgain = async (bell: Bell): Promise<never> => {
    for (;;) {
      await bell.wait(LONGEST_WAIT_MS, stop.signal);
      await sleep(clock, SAVE_AGAIN_MS, stop.signal);
      await book.save();
    }
  };
  send(saveAgain, 'failed');
  if (replica?.isLeader === true) {
    senders.push(adoptStopped({ store, book, clock, events, signal: stop.signal }).catch(() => undefined));
  }
  const subscription = events.subscribe((event) => {
    if (event.type !== 'notification') return;
    const { type: _type, ...notification } = event;
    const own = ofReplica(notification, replica);
    if (own !== undefined) book.hear(own);
  });

  const end = async (): Promise<void> => {
    subscription[Symbol.dispose]();
    stop.abort(new Error('the daemon is stopping'));
    await Promise.all(senders);
    book.withdrawWill();
    // Before the write, which a store that does not respond may outlast.
    const drop = unsaved?.keep(book.unsaved(), replica);
    if (await book.save()) drop?.();
    post[Symbol.dispose]();
  };

  return {
    activeConditions: () =>
      book
        .kept()
        .filter(({ endedAt }) => endedAt === undefined)
        .toSorted((a, b) => a.startedAt - b.startedAt)
        .map(({ notification, startedAt }) => ({ ...ofProcess(notification), at: startedAt })),
    async [Symbol.asyncDispose]() {
      const ended = end();
      unsaved?.endsWith(ended);
      await ended;
    },
  };
}

function webhooksOf({ webhook, owners }: NotificationSettings): ReadonlyMap<string, Receiver> {
  const webhooks = new Map<string, Receiver>();
  if (webhook !== undefined) webhooks.set('webhook', receiverOf('webhook', webhook));
  for (const [owner, { webhook: own }] of Object.entries(owners)) {
    webhooks.set(`webhook/${owner}`, receiverOf(`webhook/${owner}`, own));
  }
  return webhooks;
}

function receiverOf(name: string, settings: ReceiverSettings): Receiver {
  const { url, urlFile, token, tokenFile, headers } = settings;
  return {
    name,
    url: url === undefined ? Secret.fromFile(urlFile!) : Secret.of(url),
    ...(token !== undefined && { token: Secret.of(token) }),
    ...(tokenFile !== undefined && { token: Secret.fromFile(tokenFile) }),
    ...clientOf(settings),
    headers: rememberSecrets(headers),
  };
}
