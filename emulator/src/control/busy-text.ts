/** Describes what keeps a service busy, for the error of a wait that is over. */
import { attemptId, type Message } from '../state/message.ts';
import type { Engine } from '../delivery/engine.ts';
import type { Activity } from './activity.ts';
import type { SteerableClock } from './steerable-clock.ts';

/** Maximum number of things that are named. */
const MOST_NAMED = 3;

interface BusyParts {
  readonly activity: Activity;
  readonly clock: SteerableClock;
  readonly engine: () => Engine;
}

/** @param before number of messages of the service when the wait began */
export function busyText({ activity, clock, engine }: BusyParts, before: number): string {
  const { active, waiting, submitted, newest } = engine();
  const parts = [
    named(activity.requests, 'request in progress', 'requests in progress'),
    named(active.map(nameOf), 'delivery without a response', 'deliveries without a response'),
    named(waiting.map(nameOf), 'message waits for its time', 'messages wait for their time'),
  ];
  if (waiting.length > 0) parts.push(`the next timer is due in ${clock.nextIn ?? 0} ms of its time`);
  const added = submitted - before;
  if (added > 0 && newest !== undefined) parts.push(`${added} were published meanwhile, the last to ${nameOf(newest)}`);
  return parts.filter((part) => part !== undefined).join('; ') || 'a timer is pending';
}

function named(names: readonly string[], one: string, many: string): string | undefined {
  if (names.length === 0) return undefined;
  const more = names.length > MOST_NAMED ? ', …' : '';
  return `${names.length} ${names.length === 1 ? one : many}: ${names.slice(0, MOST_NAMED).join(', ')}${more}`;
}

function nameOf({ id, url, attempts }: Message): string {
  return `${url.slice(0, 200)} (${attemptId(id, attempts)})`;
}
