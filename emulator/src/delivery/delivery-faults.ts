/**
 * Faults of the service's deliveries, by rule. A rule selects messages by destination and label, how often it applies,
 * and the fault. Callbacks are messages too. Without rules, no delivery is changed.
 */
import { FaultRules, matchesPattern } from '../state/fault-rules.ts';
import type { Message, Outcome, State } from '../state/message.ts';
import type { DeliveryFault, DeliveryFaultRule } from '../types/public.ts';

/** Errors of a connection that the service cannot establish, as an attempt reports them. */
export const CONNECTION_ERRORS = {
  dns: ({ hostname }: URL) => `getaddrinfo ENOTFOUND ${hostname}`,
  refused: ({ host }: URL) => `connect ECONNREFUSED ${host}`,
  reset: () => 'read ECONNRESET',
  tls: () => 'DEPTH_ZERO_SELF_SIGNED_CERT: self-signed certificate',
  timeout: ({ host }: URL) => `UND_ERR_CONNECT_TIMEOUT: Connect Timeout Error (attempted address: ${host})`,
} as const;

type Kind = DeliveryFault['kind'];
type FaultOf<K extends Kind> = Extract<DeliveryFault, { readonly kind: K }>;

export class DeliveryFaults extends FaultRules<DeliveryFaultRule> {
  /** Returns the fault of a kind that applies to a message now, and counts it. The last rule takes precedence. */
  of<K extends Kind>(kind: K, message: Message): FaultOf<K> | undefined {
    const rules = this.take((rule) => rule.fault.kind === kind && selects(rule, message));
    return rules.at(-1)?.fault as FaultOf<K> | undefined;
  }

  /** Returns true if the transition of a message to a state is missing in the log. */
  hides(message: Message, state: State): boolean {
    const rules = this.take(
      (rule) =>
        rule.fault.kind === 'unlogged' &&
        (rule.fault.states === undefined || rule.fault.states.includes(state)) &&
        selects(rule, message),
    );
    return rules.length > 0;
  }
}

function selects({ url, label }: DeliveryFaultRule, message: Message): boolean {
  if (url !== undefined && !matchesPattern(url, message.url)) return false;
  return label === undefined || message.delivery.labels.includes(label);
}

/** Returns the outcome of an attempt that cannot connect; undefined without a fault. */
export function connectionFailure(fault: FaultOf<'unreachable'> | undefined, url: string): Outcome | undefined {
  if (fault === undefined) return undefined;
  const error = fault.error ?? CONNECTION_ERRORS[fault.how](new URL(url));
  return { delivered: false, headers: {}, body: new Uint8Array(), error };
}

/** Returns the outcome that an attempt reports with this status. */
export function reportedOutcome(status: number): Outcome {
  const delivered = status >= 200 && status < 300;
  const error = `destination answered ${status}`;
  return { delivered, status, headers: {}, body: new Uint8Array(), ...(!delivered && { error }) };
}

export function alteredBody(body: Uint8Array, how: 'cut' | 'changed'): Uint8Array {
  if (how === 'cut') return body.slice(0, Math.floor(body.length / 2));
  const changed = Uint8Array.from(body);
  if (changed.length > 0) changed[changed.length - 1]! ^= 1;
  return changed;
}
