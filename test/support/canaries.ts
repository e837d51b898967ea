/** States of canaries for views. */
import type { CanaryRound, CanaryState } from '#foundation/domain/canary.ts';

/** @param at time of the publish request */
export function canaryRound(at: number, more: Partial<CanaryRound> = {}): CanaryRound {
  return {
    id: `r${at}`,
    size: 'small',
    bytes: 256,
    startedAt: at,
    phases: { accepted: at + 41, logged: at + 3_020, arrived: at + 180, callback: at + 320, delivered: at + 3_020 },
    duplicates: 0,
    messageId: `msg_${at}`,
    warmUp: false,
    result: { verdict: 'ok', reason: 'all phases in time', at: at + 3_030 },
    ...more,
  };
}

/** A canary that succeeds, except for the overrides. @param now current time */
export function canaryState(now: number, more: Partial<CanaryState> = {}): CanaryState {
  return {
    account: 'production',
    canary: 'home',
    verdict: 'ok',
    reason: 'all phases in time',
    since: now - 3_600_000,
    lastSuccessAt: now - 20_000,
    every: 60_000,
    timeout: 60_000,
    inFlight: 0,
    rounds: Array.from({ length: 12 }, (_, index) => canaryRound(now - 20_180 - index * 60_000)),
    ...more,
  };
}

/** Canaries with each kind of message: failed, in flight, warm-up, duplicate. @param text replaces every text */
export function allCanaries(now: number, text: (plain: string) => string): readonly CanaryState[] {
  const reason = text('the service accepted the message, but its log shows no attempt after 60 s');
  const failed = canaryRound(now - 120_000, {
    phases: { accepted: now - 119_900 },
    result: { verdict: 'service', reason, at: now - 60_000 },
  });
  const { result: _ended, ...inFlight } = canaryRound(now - 8_000, { phases: { accepted: now - 7_900 } });
  const twice = canaryRound(now - 180_000, {
    size: 'real',
    bytes: 65_536,
    duplicates: 1,
    messageId: text('msg_twice'),
    result: { verdict: 'service', reason: text('the message arrived twice'), at: now - 170_000 },
  });
  return [
    canaryState(now),
    canaryState(now, {
      canary: 'flow-control-billing',
      via: { flowControlKey: text('billing') },
      verdict: 'service',
      reason,
      since: now - 180_000,
      lastSuccessAt: now - 240_000,
      inFlight: 1,
      rounds: [inFlight, failed, twice, canaryRound(now - 240_000, { warmUp: true })],
    }),
    canaryState(now, {
      canary: 'queue',
      via: { queue: text('mails') },
      verdict: 'unknown',
      reason: 'no message has a verdict yet',
      rounds: [],
    }),
  ];
}
