/** Canaries: their verdicts, who must act, and their last messages. */
import type { CanaryState, CanaryVerdict } from '#foundation/domain/canary.ts';
import type { CanariesView } from '../contract/readings.ts';
import type { ApiDeps } from './api-deps.ts';

/** Meaning of a verdict, and the next step. */
interface VerdictHelp {
  readonly meaning: string;
  readonly next?: string;
}

/** The same in docs/canaries.md. */
export const VERDICT_HELP: Readonly<Record<CanaryVerdict, VerdictHelp>> = {
  ok: { meaning: 'The message was accepted, delivered, and reported in time.' },
  service: {
    meaning:
      'The service rejected the message or did not attempt it in time, or it arrived late, twice, or altered. The fault is at the service.',
    next: 'Report it to the provider, with the id of the message and the times of its phases.',
  },
  account: {
    meaning: 'The service rejects requests of the account, or one of its limits is reached.',
    next: 'Check the token, the limits, and the budget of the account.',
  },
  throttled: {
    meaning: 'The message waits for its flow-control key.',
    next: 'Raise the limits of the key, or resume it if it is paused.',
  },
  network: {
    meaning: 'The service cannot connect to the hooks listener, which answers the daemon.',
    next: 'Check the DNS name, the certificate, and the firewall of hooks.publicUrl.',
  },
  receiver: {
    meaning: 'The hooks listener rejected the message, was slow, or does not answer the daemon either.',
    next: 'Check hooks.listen, the proxy in front of it, and the log of the daemon.',
  },
  service_reporting: {
    meaning: 'The message arrived, but the log or the callback of the service does not report it.',
    next: 'Report it to the provider. Deliveries work; counters, incidents, and policies may lack facts.',
  },
  unknown: {
    meaning: 'Too little is known. This is neither a success nor a failure.',
    next: 'Read the reason: it names the missing fact.',
  },
};

export function readCanaries(deps: Pick<ApiDeps, 'clock' | 'canaries'>, account?: string): CanariesView {
  const states = deps.canaries.states().filter((state) => account === undefined || state.account === account);
  const views = states.map((state) => ({ ...state, next: VERDICT_HELP[state.verdict].next }));
  return {
    at: deps.clock.now(),
    canaries: views.toSorted((a, b) => Number(isFailingCanary(b)) - Number(isFailingCanary(a))),
  };
}

/** Returns true if the last message failed. An unknown verdict is no failure. */
export function isFailingCanary({ verdict }: Pick<CanaryState, 'verdict'>): boolean {
  return verdict !== 'ok' && verdict !== 'unknown';
}
