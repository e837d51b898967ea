/** Deploys that a decision reads, for policies that wait for one. */
import { DEPLOY_ARMS_MS, latestOf, type Deploy } from '#foundation/domain/deploy.ts';
import type { Policy } from '../../policies/policy.ts';
import type { EngineDeps } from '../facts/engine-deps.ts';

/** Returns the deploys of the account, newest first; undefined if the policy waits for none. */
export async function deploysOf(
  { account, when }: Policy,
  { ledger, clock }: Pick<EngineDeps, 'ledger' | 'clock'>,
): Promise<readonly Deploy[] | undefined> {
  return 'afterDeploy' in when ? ledger.deploys([account], clock.now() - DEPLOY_ARMS_MS) : undefined;
}

/** Returns the last deploy that is about one of these URLs. */
export function lastDeploy(deploys: readonly Deploy[] | undefined, urls: Iterable<string>): Deploy | undefined {
  const of = [...new Set(urls)].flatMap((url) => latestOf(deploys ?? [], url) ?? []);
  return of.toSorted((a, b) => b.at - a.at || b.id - a.id)[0];
}
