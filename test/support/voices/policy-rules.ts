/** Rules about policies, their holds and runs, and plans. */
import { isCertain } from './outage-rules.ts';
import { claim, differ, missing, plain, type Json, type Rule } from './rule.ts';
import { PLACES, POLICIES, type PolicyName } from './world.ts';

const DECIDED = new Set(['rejected', 'applied', 'expired', 'replaced', 'cancelled']);
const USABLE = new Set(['pending', 'approved']);

export const POLICY_RULES: Readonly<Record<string, Rule>> = {
  'holds of a policy': ({ policies, conditions, pages, metrics, command }) =>
    [...policies].flatMap(([name, { policy }]) => {
      const condition = conditions.find(({ key }) => key === `held/${name}`);
      const since = metrics.value('opsd_policy_held_since_timestamp_seconds', { policy: name });
      const isHeld = policy.held !== undefined;
      return [
        ...differ(name, { policy: isHeld, condition: condition !== undefined }),
        ...differ(name, { policy: isHeld, metric: since !== undefined && since > 0 }),
        ...(isHeld ? differ(name, { policy: policy.held.reason, condition: condition?.denial?.reason }) : []),
        ...(isHeld ? missing(name, 'its page', pages.get(`/policies/${name}`)!, policy.held.reason) : []),
        ...differ(name, { policy: isHeld, command: command.includes(`${name} [${policy.effectiveMode}] held by`) }),
      ];
    }),

  'last runs': ({ policies, metrics, pages }) =>
    [...policies].flatMap(([name, { policy, runs }]) => {
      const { lastRun } = policy;
      if (lastRun === undefined || lastRun.outcome === 'running') return [];
      const metric = (what: string): number | undefined => metrics.value(`opsd_policy_${what}_items`, { policy: name });
      return [
        ...differ(name, { policy: lastRun.outcome, runs: runs[0].outcome }),
        ...differ(name, { lastRun: lastRun.matched, metric: metric('matched') }),
        ...differ(name, { lastRun: lastRun.backlog, metric: metric('backlog') }),
        ...missing(name, 'its page', pages.get(`/policies/${name}`)!, matchedText(lastRun)),
      ];
    }),

  'matched and books': ({ policies, books }) =>
    [...policies].flatMap(([name, { policy }]) => {
      const waiting = books[POLICIES[name as PolicyName].place];
      const { outcome, matched } = policy.lastRun ?? {};
      return claim(outcome !== 'held' || waiting === 0 || matched !== 0, name, `0 matched while ${waiting} runs wait`);
    }),

  'pending plans': ({ plans, policies, conditions, status, metrics }) => {
    const pending = plans.filter(({ state }) => state === 'pending');
    return [
      ...differ('pending', { plans: pending.length, status: status.pendingPlans }),
      ...[...policies].flatMap(([name, { policy }]) => {
        const own = pending.filter((plan) => plan.policy === name).length;
        const condition = conditions.some(({ key }) => key === `approval/${name}`);
        const isSaid = policy.lastRun?.outcome === 'pending_approval';
        return [
          ...differ(name, { isPending: own > 0, condition }),
          ...differ(name, { plans: own, metric: metrics.value('opsd_pending_plans', { policy: name }) ?? 0 }),
          ...claim(!isSaid || own > 0, name, 'last run is pending approval, but no plan is pending'),
        ];
      }),
    ];
  },

  'plans and their pages': ({ plans, planDetails, pages }) =>
    plans.flatMap((row) => {
      const detail = planDetails.get(row.id)?.plan;
      if (detail === undefined) return [];
      return [
        ...differ(row.id, { list: row.state, detail: detail.state }),
        ...missing(row.id, 'its page', pages.get(`/plans/${row.id}`)!, `State ${row.state}`),
      ];
    }),

  'a decided plan stays decided': ({ plans }, _world, { decided }) =>
    plans.flatMap(({ id, state }) => {
      const before = decided.get(id);
      if (DECIDED.has(state)) decided.set(id, before ?? state);
      return before === undefined ? [] : differ(id, { before, now: state });
    }),

  'nothing is sent into an outage': ({ actions }, world, { resumes }) =>
    PLACES.flatMap((place) => {
      const sent = actions.filter(({ workflowUrl = '' }) => URL.parse(workflowUrl)?.host === world.hosts[place]).length;
      if (!isCertain(place, world)) {
        resumes.delete(place);
        return [];
      }
      const before = resumes.get(place) ?? sent;
      resumes.set(place, before);
      return differ(place, { before, now: sent });
    }),

  'usable plans are visible': ({ plans, planDetails, pages, command, policies, incidentDetails }) =>
    plans
      .filter(({ state, origin }) => USABLE.has(state) && origin === 'policy')
      .flatMap(({ id, policy, state }) => {
        const targets = new Set<string>(planDetails.get(id)?.plan.targets);
        const own = [...incidentDetails.values()].filter(({ incident }) =>
          incident.memberIds.workflow.some((member: string) => targets.has(member)),
        );
        return [
          ...missing(id, `the first page (${state})`, pages.get('/')!, id),
          ...missing(id, `\`opsd status\` (${state})`, command, id),
          ...missing(id, `the page of ${policy} (${state})`, pages.get(`/policies/${policy}`)!, id),
          ...missing(id, `${policy} (${state})`, JSON.stringify(policies.get(policy)), id),
          ...own.flatMap(({ incident }) =>
            missing(id, `incident ${incident.id} (${state})`, JSON.stringify(incident.plans), id),
          ),
        ];
      }),

  'a decision comes first': ({ plans, status, pages }) => {
    const pending = plans.filter(({ state }) => state === 'pending');
    const [first] = status.verdict.problems;
    if (pending.length === 0) return [];
    const names = pending.map(({ id }) => id).join(', ');
    return [
      ...claim(
        pending.some(({ id }) => first.text.startsWith(`Plan ${id} `)),
        'headline',
        `${names} waits, but first is: ${first.text}`,
      ),
      ...claim(
        pending.some(({ id }) => /Read plan (\w+)/.exec(plain(pages.get('/')!))?.[1] === id),
        'first page',
        `${names} waits, but has no first row`,
      ),
    ];
  },

  'explanations and holds': ({ explained, policies }) =>
    [...explained].flatMap(([place, { policies: verdicts }]) =>
      verdicts.flatMap(({ policy, verdict, denial }: Json) => {
        const { held, reducedBy = '' } = policies.get(policy)!.policy;
        const { place: own, mode } = POLICIES[policy as PolicyName];
        // In audit, the mode keeps a run from acting, whatever holds it besides.
        if (own !== place || mode === 'audit' || held === undefined) return [];
        // The hold is that of the last run, and a pause may be newer.
        const guards = reducedBy.startsWith('paused') ? [held.guard, 'kill_switch'] : [held.guard];
        const isSaid = verdict !== 'chosen' && guards.includes(denial?.guard);
        return claim(isSaid, `${policy} ${place}`, `held by ${held.guard}, but ${verdict} ${denial?.guard}`);
      }),
    ),

  'states of pauses': ({ status, policies }) =>
    [...policies].flatMap(([name, { policy }]) => {
      const isPaused = status.pauses.some(({ scope }: Json) => scope === 'engine' || scope === `policy/${name}`);
      const isSaid = policy.effectiveMode === 'off' || /paused/.test(policy.reducedBy ?? '');
      return claim(!isPaused || isSaid, name, `paused, but runs as ${policy.effectiveMode}`);
    }),
};

function matchedText({ matched }: Json): string {
  return matched === undefined ? 'number of matches unknown' : `${matched} matched`;
}
