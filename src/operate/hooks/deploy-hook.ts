/** Reports of deploys, from the hook and from the API. */
import { deployedPart } from '#foundation/domain/deploy.ts';
import { deployReport, type DeployReport, type ReportedDeploys } from '../contract/deploys.ts';
import { HttpError } from '../http/reply.ts';
import type { HookDeps } from './hook-deps.ts';
import { malformed } from './hook-json.ts';

/** Milliseconds that the reported time may be old, or ahead of the daemon's clock. */
const MAX_AGE_MS = 86_400_000;
const MAX_AHEAD_MS = 300_000;

/**
 * Stores a deploy for each of its accounts, with a pending trigger for each policy that waits for one. A report without an
 * account is about all of them.
 *
 * @throws {HttpError} 400 or 404
 */
export async function takeDeploy(
  deps: Pick<HookDeps, 'ledger' | 'accounts' | 'policies' | 'clock' | 'events'>,
  { account, of, at: time, failed = false, ...about }: DeployReport,
  by: string,
): Promise<ReportedDeploys['deploys']> {
  const now = deps.clock.now();
  const at = time === undefined ? now : Date.parse(time);
  if (at > now + MAX_AHEAD_MS) throw malformed('at must not be in the future.');
  if (at < now - MAX_AGE_MS) throw malformed('at must not be more than a day ago.');
  const known = deps.accounts();
  if (account !== undefined && !known.includes(account)) {
    throw new HttpError(404, 'not_found', `There is no account of this name. The accounts are ${known.join(', ')}.`);
  }
  const parts = [...new Set(of.map((text) => deployedPart(text)!))];
  const taken: ReportedDeploys['deploys'][number][] = [];
  for (const name of account === undefined ? known : [account]) {
    const waiting = deps.policies().filter((policy) => policy.account === name && 'afterDeploy' in policy.when);
    const names = waiting.map((policy) => policy.name);
    const report = { ...about, account: name, of: parts, at, failed, by };
    const { deploy, isNew } = await deps.ledger.recordDeploy(report, names);
    const { id: _id, url: _url, ...shown } = deploy;
    const { version, isRollback } = shown;
    taken.push({ ...shown, policies: isRollback ? [] : names });
    if (isNew) deps.events.emit({ type: 'deploy.reported', account: name, version, isRollback });
  }
  return taken;
}

/** Reads the body of the hook. @throws {HttpError} 400 with what is wrong */
export function readReport(value: unknown): DeployReport {
  const read = deployReport.safeParse(value);
  if (read.success) return read.data;
  const [{ path, message } = { path: [], message: 'malformed' }] = read.error.issues;
  throw malformed(
    `The body must be a report of a deploy: ${path.length > 0 ? `${path[0]?.toString() ?? ''} ` : ''}${message}.`,
  );
}
