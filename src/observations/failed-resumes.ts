/**
 * Resumed runs of which the log told that they failed again, before a listing of the DLQ could: by account and lineage,
 * the last attempt. Only those of the last while: a listing tells of all of them in the end.
 */
import type { EndedAttemptsRead, FailedResume } from '../domain/ended-attempts.ts';
import { getOrAdd } from '../platform/get-or-add.ts';

/** Of one account. */
const MOST = 10_000;

export class FailedResumes {
  readonly #accounts = new Map<string, Map<string, number>>();

  /** To be called with each commit of the reading of the log. */
  take(account: string, { failedResumes }: Pick<EndedAttemptsRead, 'failedResumes'>): void {
    if (failedResumes.length === 0) return;
    const known = getOrAdd(this.#accounts, account, () => new Map<string, number>());
    for (const failed of failedResumes) {
      const key = keyOf(failed);
      const attempt = Math.max(failed.attempt, known.get(key) ?? 0);
      known.delete(key);
      known.set(key, attempt);
    }
    for (const key of known.keys()) {
      if (known.size <= MOST) break;
      known.delete(key);
    }
  }

  /** Whether this attempt, or a later one of the same run, failed on its way to this URL. */
  has(account: string, resume: FailedResume): boolean {
    return (this.#accounts.get(account)?.get(keyOf(resume)) ?? 0) >= resume.attempt;
  }
}

function keyOf({ instance, lineage, url }: FailedResume): string {
  return `${instance}\0${lineage}\0${url}`;
}
