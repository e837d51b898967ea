/** Facts about an account that preconditions can call; undefined means unknown. */
import { matchesGlob } from '#foundation/domain/glob.ts';
import type { PreconditionFacts } from '../../policies/facts.ts';
import type { FactsDeps } from './facts-deps.ts';

/** @param dlqLimit capacity of the DLQ in messages, if configured */
export async function preconditionFacts(
  account: string,
  dlqLimit: number | undefined,
  { board, attempts, ledger, clock, canaries }: Pick<FactsDeps, 'board' | 'attempts' | 'ledger' | 'clock' | 'canaries'>,
): Promise<PreconditionFacts> {
  const alertFiring = await ledger.alertsFiring(account, clock.now());
  const trips = await ledger.lastStops('tripwire', 0);
  const flow = (key: string) =>
    board.fresh(account, 'flowControl')?.rows.find(({ flowControlKey }) => flowControlKey === key);
  const dlqMessages = (): number | undefined => board.fresh(account, 'accountStats')?.rows[0]?.dlqMessages;
  return {
    successRatio(host, windowMs) {
      const counts = attempts.of(account, host, windowMs);
      // Without messages there is no ratio.
      return counts === undefined || counts.all === 0 ? undefined : counts.delivered / counts.all;
    },
    sampleSize: (host, windowMs) => attempts.of(account, host, windowMs)?.all,
    arrivals(label, windowMs) {
      const since = clock.now() - windowMs;
      const rows = board.fresh(account, 'workflowDlq')?.rows;
      // Runs that the daemon has resumed since then count as failed, too.
      const arrived = rows && [...rows, ...board.departed(account)];
      return arrived?.filter(({ createdAt, labels }) => createdAt >= since && labels.includes(label)).length;
    },
    alertFiring,
    flowWaiting: (key) => flow(key)?.waitListSize,
    flowPaused: (key) => flow(key)?.isPaused,
    canary: (name) => canaries?.().find((canary) => canary.account === account && canary.canary === name)?.verdict,
    dlqMessages,
    dlqFillRatio() {
      const messages = dlqMessages();
      return messages === undefined || dlqLimit === undefined ? undefined : messages / dlqLimit;
    },
    policyTripped(glob, windowMs) {
      const since = clock.now() - windowMs;
      return [...trips].some(([policy, at]) => at > since && matchesGlob(glob, policy));
    },
  };
}
