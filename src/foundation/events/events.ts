/**
 * Events of the daemon, each emitted once. The logger and the exporters subscribe; the emitters do not know them. Ids
 * can be fields of events; they never become labels.
 */
import type { CanaryEvent } from './canary-events.ts';
import type { ClientEvent } from './client-events.ts';
import type { CollectorEvent } from './collector-events.ts';
import type { DaemonEvent } from './daemon-events.ts';
import type { HookEvent } from './hook-events.ts';
import type { NotificationEvent } from './notification-events.ts';
import type { PolicyEvent } from './policy-events.ts';
import type { TelemetryEvent } from './telemetry-events.ts';

export type { Api } from './client-events.ts';

export type OpsEvent =
  | ClientEvent
  | CollectorEvent
  | TelemetryEvent
  | PolicyEvent
  | HookEvent
  | CanaryEvent
  | NotificationEvent
  | DaemonEvent;

export type EventOf<T extends OpsEvent['type']> = Extract<OpsEvent, { readonly type: T }>;

export type EventListener = (event: OpsEvent) => void;

export class EventBus {
  readonly #listeners = new Set<EventListener>();

  emit(event: OpsEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  subscribe(listener: EventListener): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }
}
