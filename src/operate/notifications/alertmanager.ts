/**
 * Notifications as alerts of an Alertmanager (`POST /api/v2/alerts`), as Prometheus sends its own. All active
 * conditions are sent repeatedly, each with an end a few intervals ahead, so that they end when the daemon no longer
 * sends them. A resolved condition is sent until Alertmanager accepts it, also after a restart.
 */
import type { Clock } from '#foundation/platform/clock.ts';
import { sleep } from '#foundation/platform/sleep.ts';
import type { NotificationBook } from './notification-book.ts';
import type { KeptNotification } from './notification-store.ts';
import { deliver } from './receiver.ts';
import type { SenderOptions } from './webhook.ts';

const FIRST_WAIT_MS = 1_000;
/** Number of intervals without a repetition after which Alertmanager ends an alert. */
const INTERVALS_AHEAD = 4;
/** Age after which the alert has ended without a resolved notification. */
const FORGET_ENDS_MS = 3_600_000;

export interface AlertmanagerOptions extends SenderOptions {
  readonly resendMs: number;
  /** Labels of every alert. */
  readonly labels: Readonly<Record<string, string>>;
}

/** Sends until the signal aborts, and rejects with its reason. */
export async function sendToAlertmanager(options: AlertmanagerOptions): Promise<never> {
  const { receiver, book, clock, signal, bell, resendMs, labels } = options;
  let waitMs = FIRST_WAIT_MS;
  for (;;) {
    const kept = current(book, clock);
    const alerts = kept.map((one) => alertOf(one, clock.now() + INTERVALS_AHEAD * resendMs, labels));
    const result =
      alerts.length === 0 ? undefined : await deliver(receiver, alerts, { ...options, path: '/api/v2/alerts' });
    if (result?.kind === 'later') {
      await sleep(clock, Math.max(Math.min(waitMs, resendMs), result.afterMs ?? 0), signal);
      waitMs *= 2;
      continue;
    }
    waitMs = FIRST_WAIT_MS;
    // Alertmanager accepts the valid alerts of a list even if others are invalid.
    for (const one of kept) if (one.endedAt !== undefined) book.forget(one);
    await bell.wait(resendMs, signal);
  }
}

function current(book: NotificationBook, clock: Clock): readonly KeptNotification[] {
  for (const kept of book.kept()) {
    if (kept.endedAt !== undefined && clock.now() - kept.endedAt > FORGET_ENDS_MS) book.forget(kept);
  }
  return book.kept().filter(({ isUntold }) => isUntold === undefined);
}

/** @param activeUntil end of an active alert, in epoch milliseconds */
function alertOf(
  { notification, startedAt, endedAt }: KeptNotification,
  activeUntil: number,
  labels: Readonly<Record<string, string>>,
): Readonly<Record<string, unknown>> {
  const { key, severity, policy, account, owner, group, guard, replica, summary, detail } = notification;
  return {
    labels: {
      ...labels,
      alertname: alertName(key),
      severity,
      // Alertmanager identifies alerts by their labels, so each condition needs its own. The guard is not a label,
      // since a hold may change from one guard to another: the alert of the first would stay active next to that of the
      // second.
      condition: key,
      ...given({ policy, account, owner, group, replica }),
    },
    annotations: { summary, description: detail, ...given({ guard }) },
    startsAt: new Date(startedAt).toISOString(),
    endsAt: new Date(endedAt === undefined ? activeUntil : Math.max(startedAt, endedAt)).toISOString(),
  };
}

/** Name from the kind of condition: `held/POLICY` becomes `OpsdHeld`. */
export function alertName(key: string): string {
  const kind = key.split(/\W/, 1)[0]!;
  return `Opsd${kind.charAt(0).toUpperCase()}${kind.slice(1)}`;
}

/** Non-empty values only: Alertmanager drops empty labels. */
function given(values: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const entries = Object.entries(values).filter((entry): entry is [string, string] => (entry[1] ?? '') !== '');
  return Object.fromEntries(entries);
}
