import { parseStamp } from '#foundation/domain/lineage.ts';
import type { Candidate, EntryRules, Objection } from './guard.ts';

/**
 * A run is resumed a few times, with growing waits, however often it fails again under new names. Deletes count no
 * attempts, but wait where the service refused them.
 */
export function attempts(candidate: Candidate, rules: EntryRules): Objection | undefined {
  // What the service refuses would else stand first in every run and keep the others waiting.
  const { rejections, lastRejectedAt = 0 } = candidate;
  const refused = backingOffRefusal(rejections, lastRejectedAt, rules);
  if (rules.action !== 'workflow-dlq.resume') return refused;

  const { attempts, entry } = candidate;
  if (attempts >= rules.maxAttempts) return { reason: `${attempts} of ${rules.maxAttempts}` };
  // The labels go with the resumed run in one header, the stamp beside them: a label that would not arrive as it is
  // cannot be sent again, and without the stamp the attempts could not be counted.
  if (entry.labels.some((label) => parseStamp(label) === undefined && !SENDABLE.test(label))) {
    return { reason: 'a label cannot be sent again beside the stamp' };
  }
  // An attempt that only the stamp knows of was made before the run failed again.
  return waiting('backing off', attempts, candidate.lastAttemptAt ?? entry.createdAt, rules) ?? refused;
}

/** Of an entry whose requests were refused so many times, the last time then (epoch milliseconds). */
export function backingOffRefusal(times: number, last: number, rules: Waits): Objection | undefined {
  return waiting('refused by the service, backing off', times, last, rules);
}

type Waits = Pick<EntryRules, 'now' | 'backoff'>;

function waiting(reason: string, times: number, last: number, { now, backoff }: Waits): Objection | undefined {
  if (times === 0) return undefined;
  const until = last + (backoff[Math.min(times, backoff.length) - 1] ?? 0);
  return now < until ? { reason, until } : undefined;
}

/** Visible ASCII with inner spaces, without the comma that separates labels. */
const SENDABLE = /^[!-+\--~]([ -+\--~]*[!-+\--~])?$/;
