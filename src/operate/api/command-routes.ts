/** Routes of operators' commands about the daemon: explain, pauses, the store, and reloads. */
import { isAbsolute } from 'node:path';
import { shownGroup } from '#automate/ledger/shown-group.ts';
import { manualPlanId } from '#foundation/domain/manual-plan.ts';
import { redact } from '#foundation/domain/redact.ts';
import { unknownPolicy } from '#foundation/domain/suggest.ts';
import { workflowTemplate } from '#observe/metrics/labels.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import * as control from '../contract/control.ts';
import { reportDeploy } from '../contract/deploys.ts';
import { postExplain } from '../contract/policies.ts';
import { HttpError } from '../http/reply.ts';
import type { ApiContext, ApiRoute } from './api-deps.ts';
import { fromStore } from './from-store.ts';
import { implement, refusedError } from './implement.ts';
import { actionView } from './run-views.ts';

export const COMMAND_ROUTES: readonly ApiRoute[] = [
  implement(postExplain, async ({ deps, body, signal }) => {
    const explained = await deps.engine.explain(body.id, signal);
    if (!explained.ok) throw refusedError(explained);
    const { id, subject, policies, actions } = explained;
    return { id, subject, policies, actions: actions.map(actionView) };
  }),
  implement(control.pauseEngine, async ({ deps, body: { reason, policy }, by }) => {
    await requirePolicy(deps, policy);
    await deps.engine.pause({ reason, by, policy });
    return { paused: policy === undefined ? 'engine' : `policy/${policy}` };
  }),
  implement(control.unpauseEngine, async ({ deps, body: { reason, policy, group: name }, by }) => {
    await requirePolicy(deps, policy);
    const group = name === undefined ? undefined : await groupNamed(deps, policy!, name);
    const lifted = await deps.engine.unpause({ reason, by, policy, group });
    return { lifted, stillPaused: await deps.engine.stillPaused(policy) };
  }),
  implement(reportDeploy, async ({ deps, body, by }) => ({
    deploys: await fromStore(() => deps.deploy(body, by)),
  })),
  implement(control.backupState, async ({ deps, body: { file } }) => {
    if (!isAbsolute(file))
      throw new HttpError(400, 'bad_request', `The file must be an absolute path, not ${file.slice(0, 200)}.`);
    try {
      return await deps.state.backup(file);
    } catch (error) {
      throw new HttpError(409, 'refused', errorMessage(error));
    }
  }),
  implement(control.adoptState, async ({ deps, body: { reason }, by }) => {
    try {
      return { adopted: (await deps.state.adopt(reason, by)) ?? null };
    } catch (error) {
      throw new HttpError(409, 'refused', errorMessage(error));
    }
  }),
  implement(control.resetCounter, async ({ deps, body: { labels = {}, ...asked }, by }) => ({
    reset: await deps.state.resetCounters({ ...asked, labels, by }),
  })),
  implement(control.reload, async ({ deps, by }) => {
    if (deps.reload === undefined) {
      const message = 'This daemon was not started from a configuration file, so it cannot reload one.';
      throw new HttpError(409, 'refused', message);
    }
    const outcome = await deps.reload(by);
    if (!outcome.ok) throw new HttpError(422, 'bad_configuration', outcome.message);
    const { changed, webConfig, hash } = outcome;
    return { changed, webConfig, hash };
  }),
];

/** Rejects an unknown policy: a pause with a typo must not look successful. */
export async function requirePolicy(deps: ApiContext['deps'], name: string | undefined): Promise<void> {
  // A pause of the whole engine must not need the store.
  if (name === undefined) return;
  const known = (await fromStore(() => deps.policies())).map((policy) => policy.name);
  if (known.includes(name) || (await fromStore(() => isManualInProgress(deps, name)))) return;
  throw new HttpError(404, 'unknown_policy', unknownPolicy(name, known));
}

/** Only a manual plan in progress has runs to pause. */
async function isManualInProgress({ ledger, clock }: ApiContext['deps'], name: string): Promise<boolean> {
  const id = manualPlanId(name);
  return id !== undefined && (await ledger.storedPlan(id, clock.now()))?.state === 'approved';
}

/** Group with a name. Pages, notifications, and labels of alerts show groups in other forms, which are accepted as well. */
export async function groupNamed(deps: ApiContext['deps'], policy: string, name: string): Promise<string> {
  const shown = (await deps.policies()).find((one) => one.name === policy)?.campaigns;
  const campaigns = shown ?? (await deps.ledger.campaigns()).filter((campaign) => campaign.policy === policy);
  const groups = campaigns.map(({ group }) => group);
  if (groups.includes(name)) return name;
  const meant = groups.filter((group) => [redact(group), shownGroup(group), workflowTemplate(group)].includes(name));
  if (meant.length === 1) return meant[0]!;
  const which =
    meant.length === 0 ? `has no campaign of ${name.slice(0, 400)}` : `has several groups of this name; omit the group`;
  throw new HttpError(404, 'not_found', `Policy ${policy} ${which}. Groups: ${groups.join(' ')}`);
}
