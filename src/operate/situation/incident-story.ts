/** Story of an incident: what happened, in order, and its failures and repairs over time. Pure. Times are epoch milliseconds. */
import { deployText, type Deploy } from '#foundation/domain/deploy.ts';
import type { Campaign, CampaignStep } from '#foundation/domain/campaign.ts';
import { counted, formatCount } from '#foundation/domain/counted.ts';
import { addRates, rateOf, type FailureRate } from '#foundation/domain/failure-rate.ts';
import { snoozeEnd, type Incident } from '#foundation/domain/incident.ts';

export const STORY_KINDS = ['failure', 'change', 'repair', 'person', 'recovery'] as const;

export interface StoryEvent {
  readonly at: number;
  readonly kind: (typeof STORY_KINDS)[number];
  /** A few words, for a mark on a chart. */
  readonly mark: string;
  /** Sentence without a full stop. */
  readonly text: string;
  /** Plan that it is about. */
  readonly plan?: string;
}

export interface StoryFacts {
  readonly incident: Pick<
    Incident,
    'place' | 'firstAt' | 'lastAt' | 'reason' | 'ever' | 'resolvedAt' | 'acknowledged' | 'deliveries'
  > & {
    readonly isSinceKnown: boolean;
  };
  /** Configurations and versions that the daemon started at this time. */
  readonly marks: readonly {
    readonly at: number;
    readonly kind: 'configuration' | 'version';
    readonly detail: string;
  }[];
  /** Deploys of what failed. */
  readonly deploys: readonly Pick<Deploy, 'at' | 'of' | 'version' | 'isRollback'>[];
  readonly plans: readonly {
    readonly id: string;
    readonly policy: string;
    readonly savedAt: number;
    readonly covers: number;
    readonly madeBy?: string | undefined;
    readonly approvedBy?: string | undefined;
    readonly approvedAt?: number | undefined;
  }[];
  readonly steps: readonly CampaignStep[];
  readonly campaigns: readonly Pick<Campaign, 'id' | 'haltedAt' | 'reason'>[];
}

export function incidentStory(facts: StoryFacts): StoryEvent[] {
  const { incident, marks, deploys, plans, steps } = facts;
  const { firstAt, lastAt, reason, ever, isSinceKnown, acknowledged, resolvedAt, deliveries } = incident;
  const events: StoryEvent[] = [
    {
      at: firstAt,
      kind: 'failure',
      mark: 'first failure',
      text: `The first ${isSinceKnown ? '' : 'known '}failure: ${reason}`,
    },
    ...marks.flatMap(changeOf),
    ...deploys.map((deploy): StoryEvent => ({
      at: deploy.at,
      kind: 'change',
      mark: deploy.version,
      text: deployText(deploy),
    })),
    ...plans.flatMap(planEvents),
    ...steps.map(stepEvent),
    ...facts.campaigns.flatMap(haltOf),
  ];
  if (lastAt > firstAt) {
    const all = ever > 1 ? `, ${formatCount(ever)} dead letters so far` : '';
    events.push({ at: lastAt, kind: 'failure', mark: 'last failure', text: `The last failure${all}` });
  }
  if (acknowledged !== undefined) {
    const { at, by, note, endedAt } = acknowledged;
    const end = snoozeEnd(incident);
    const [mark, what] = end === undefined ? ['acknowledged', 'acknowledged it'] : ['snoozed', `snoozed it ${end}`];
    events.push({ at, kind: 'person', mark, text: `${by} ${what}${note === '' ? '' : `: ${note}`}` });
    if (endedAt !== undefined)
      events.push({ at: endedAt, kind: 'change', mark: 'snooze ended', text: 'The snooze ended' });
  }
  if (deliveries?.recoveringSince !== undefined) {
    const at = deliveries.recoveringSince;
    events.push({ at, kind: 'recovery', mark: 'delivers again', text: 'The destination delivers again' });
  }
  if (resolvedAt !== undefined)
    events.push({ at: resolvedAt, kind: 'recovery', mark: 'resolved', text: 'It was resolved' });
  return events.toSorted((a, b) => a.at - b.at);
}

/** Detail of a configuration: its hash and, if they are known, the changed parts. @returns undefined for a hash alone */
export function changedParts(detail: string): string | undefined {
  const changed = detail.split(' ').slice(1).join(' ');
  return changed === '' ? undefined : changed;
}

function changeOf({ at, kind, detail }: StoryFacts['marks'][number]): StoryEvent[] {
  if (kind === 'version')
    return [{ at, kind: 'change', mark: `opsd ${detail}`, text: `The daemon started with version ${detail}` }];
  const changed = changedParts(detail);
  if (changed === undefined) return [];
  return [{ at, kind: 'change', mark: 'configuration', text: `The configuration of the daemon changed: ${changed}` }];
}

function planEvents(plan: StoryFacts['plans'][number]): StoryEvent[] {
  const { id, policy, savedAt, madeBy, approvedBy = 'an operator', approvedAt, covers } = plan;
  const what = `plan ${id} of ${counted(covers, 'action')}`;
  const made: StoryEvent = {
    at: savedAt,
    kind: 'person',
    mark: `plan ${id}`,
    text: `${madeBy ?? policy} made the ${what}`,
    plan: id,
  };
  if (approvedAt === undefined) return [made];
  return [
    made,
    { at: approvedAt, kind: 'person', mark: 'approved', text: `${approvedBy} approved the plan ${id}`, plan: id },
  ];
}

function haltOf({ id, haltedAt, reason }: StoryFacts['campaigns'][number]): StoryEvent[] {
  if (haltedAt === undefined) return [];
  const why = reason === undefined ? '' : `: ${reason}`;
  return [{ at: haltedAt, kind: 'failure', mark: 'halted', text: `The campaign ${id} halted${why}` }];
}

function stepEvent({ campaign, step, at, sent, outcomes }: CampaignStep): StoryEvent {
  const count = (wanted: string): number =>
    outcomes.reduce((sum, { outcome, count: some }) => sum + (outcome === wanted ? some : 0), 0);
  const [verified, failed] = [count('verified'), count('failed_again')];
  const results = [
    `${counted(sent, 'run')} resumed`,
    ...(verified > 0 ? [`${formatCount(verified)} verified`] : []),
    ...(failed > 0 ? [`${formatCount(failed)} failed again`] : []),
  ];
  const text = `Step ${step} of the campaign ${campaign}: ${results.join(', ')}`;
  return { at, kind: failed > 0 ? 'failure' : 'repair', mark: `step ${step}: ${formatCount(sent)}`, text };
}

/** Failures and final outcomes of repairs in the same steps of time. */
export interface IncidentHistory {
  readonly from: number;
  readonly stepMs: number;
  readonly failed: readonly number[];
  readonly verified: readonly number[];
  readonly failedAgain: readonly number[];
}

/** @returns undefined without a dead letter; deliveries have no history of their own */
export function incidentHistory(
  { rate, resolvedAt = Infinity }: Pick<Incident, 'rate' | 'resolvedAt'>,
  steps: readonly CampaignStep[],
  now: number,
): IncidentHistory | undefined {
  if (rate === undefined) return undefined;
  const outcomes = steps.flatMap((step) => step.outcomes);
  const end = Math.max(rate.from, Math.min(now, resolvedAt));
  const all = outcomes.reduce<FailureRate>((sum, { at }) => addRates(sum, none(at)), addRates(rate, none(end)));
  const zeros: FailureRate = { ...all, counts: all.counts.map(() => 0) };
  const of = (wanted: string): readonly number[] =>
    outcomes
      .filter(({ outcome }) => outcome === wanted)
      .reduce<FailureRate>((sum, { at, count }) => addRates(sum, { ...none(at), counts: [count] }), zeros).counts;
  const { from, stepMs, counts } = all;
  return { from, stepMs, failed: counts, verified: of('verified'), failedAgain: of('failed_again') };
}

function none(at: number): FailureRate {
  return { ...rateOf([at]), counts: [0] };
}
