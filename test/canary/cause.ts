/** A cause that a canary can meet, with the truth that its verdict is compared with. */
import type { CanaryVerdict } from '#foundation/domain/canary.ts';
import type { Random } from '#foundation/platform/random.ts';
import type { Traveler } from './road.ts';
import type { Stage } from './stage.ts';

/** Route of the canary. */
export type Via = 'url' | 'key' | 'group' | 'workflow';

export interface Cause {
  readonly name: string;
  /** Who must act, most exact first. `ok` among them: a canary can pass. `unknown` is always allowed. */
  readonly truth: readonly CanaryVerdict[];
  /** Routes that the cause applies to. Default: all. */
  readonly vias?: readonly Via[];
  /** Signing keys that the cause needs, or must not have. Default: either. */
  readonly signed?: boolean;
  /** Milliseconds by which the service's clock is ahead. */
  readonly skewMs?: number;
  /** Injects the cause. It lasts until the end of the case. */
  inject(stage: Stage, random: Random): void | Promise<void>;
}

type Terms = Pick<Cause, 'vias' | 'signed' | 'skewMs'>;
type Inject = Cause['inject'];

/** Returns causes with the same truth by their names. */
export function causes(
  truth: Cause['truth'],
  injections: Readonly<Record<string, Inject | (Terms & { readonly inject: Inject })>>,
  terms: Terms = {},
): readonly Cause[] {
  return Object.entries(injections).map(([name, one]) => ({
    name,
    truth,
    ...terms,
    ...(typeof one === 'function' ? { inject: one } : one),
  }));
}

/** Routes whose messages have callbacks. A workflow run has none. */
export const WITH_CALLBACK: readonly Via[] = ['url', 'key', 'group'];

export function pick<T>(random: Random, values: readonly T[]): T {
  return values[Math.floor(random() * values.length)]!;
}

/** Returns true for a request of the service to the hooks listener. */
export function isDelivery({ headers }: Traveler): boolean {
  return headers['svc-message-id'] !== undefined;
}

export function isCallback(request: Traveler): boolean {
  return isDelivery(request) && request.body.includes('"sourceMessageId"');
}

/** Returns true for the delivery of a canary's message, not of its callback. */
export function isMessage(request: Traveler): boolean {
  return isDelivery(request) && !isCallback(request);
}
