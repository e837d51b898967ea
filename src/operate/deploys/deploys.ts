/** Reports of deploys, from the hook and from the API. */
import { deployedPart, DEPLOY_MAX_AGE_MS, DEPLOY_MAX_AHEAD_MS, type Deploy } from '#foundation/domain/deploy.ts';
import type { EventBus } from '#foundation/events/events.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { DeployInbox } from '#automate/ledger/deploys.ts';
import { deployReport, type DeployReport } from '../contract/deploys.ts';
import { HttpError } from '../http/reply.ts';

export interface DeployDeps {
  readonly ledger: DeployInbox;
  /** Names of the accounts: a report without an account is about all of them. */
  readonly accounts: () => readonly string[];
  /** Policies that may run. */
  readonly policies: () => readonly { readonly name: string; readonly account: string; readonly when: object }[];
  readonly clock: Clock;
  readonly events: EventBus;
}

export type TakenDeploy = Deploy & { /** Policies that wait for it. */ readonly policies: readonly string[] };

const PARTS =
  'of must be hosts or URL prefixes without user, query and fragment, such as https://app.example.com/api/.';

/**
 * Stores a deploy for each of its accounts, with a pending trigger for each policy that waits for one.
 *
 * @throws {HttpError} 400 or 404
 */
export async function takeDeploy(
  { ledger, accounts, policies, clock, events }: DeployDeps,
  report: DeployReport,
  by: string,
): Promise<readonly TakenDeploy[]> {
  const { version, url, account, failed = false } = report;
  const now = clock.now();
  const at = report.at === undefined ? now : Date.parse(report.at);
  if (Number.isNaN(at)) throw malformed('at must be a time such as 2026-11-25T21:00:00Z.');
  if (at > now + DEPLOY_MAX_AHEAD_MS) throw malformed('at must not be in the future.');
  if (at < now - DEPLOY_MAX_AGE_MS) throw malformed('at must not be more than a day ago.');
  const known = accounts();
  if (account !== undefined && !known.includes(account)) {
    throw new HttpError(404, 'not_found', `There is no account of this name. The accounts are ${known.join(', ')}.`);
  }
  const of = new Set<string>();
  for (const text of report.of) {
    const part = deployedPart(text);
    if (part === undefined) throw malformed(PARTS);
    of.add(part);
  }
  const taken: TakenDeploy[] = [];
  for (const name of account === undefined ? known : [account]) {
    const waiting = policies().filter((policy) => policy.account === name && 'afterDeploy' in policy.when);
    const names = waiting.map((policy) => policy.name);
    const { deploy, isNew } = await ledger.recordDeploy(
      { account: name, of: [...of], version, ...(url !== undefined && { url }), at, failed, by },
      names,
    );
    taken.push({ ...deploy, policies: deploy.isRollback ? [] : names });
    if (isNew) events.emit({ type: 'deploy.reported', account: name, version, isRollback: deploy.isRollback });
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

function malformed(message: string): HttpError {
  return new HttpError(400, 'bad_request', message);
}
