/** Events of canaries. */
import type { CanaryOutcome, CanaryPhase, CanaryVerdict } from '../domain/canary.ts';

interface OfCanary {
  readonly account: string;
  readonly canary: string;
}

export type CanaryEvent =
  /** A message reached a phase. Warm-up has no events of phases and round trips. */
  | (OfCanary & {
      readonly type: 'canary.phase';
      readonly phase: CanaryPhase;
      /** Duration: `accepted` from the publish request, `logged` and `arrived` from `accepted`, the others from `arrived`. */
      readonly durationMs: number;
    })
  /** A message arrived for the first time. */
  | (OfCanary & {
      readonly type: 'canary.round_trip';
      /** Time from the publish request to the arrival. */
      readonly durationMs: number;
    })
  | (OfCanary & { readonly type: 'canary.message'; readonly outcome: CanaryOutcome })
  /** A message has its verdict. */
  | (OfCanary & {
      readonly type: 'canary.verdict';
      readonly verdict: CanaryVerdict;
      /** Verdict before; absent for the first one. */
      readonly previous?: CanaryVerdict;
      readonly reason: string;
      /** Id of the round. */
      readonly round: string;
      readonly messageId?: string;
    });
