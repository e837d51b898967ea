/**
 * Answers of a daemon with one contradiction each. A rule that does not find it, because a text or a name has changed,
 * is no check.
 */
import type { Voices } from './ask.ts';
import { isCertain } from './outage-rules.ts';
import { contradictions, RULES } from './rules.ts';
import type { Json, Memory } from './rule.ts';
import { PLACES, POLICIES, type VoicesWorld } from './world.ts';

type Changeable = { -readonly [Field in keyof Voices]: Json };
/** Changes the answers. @returns false if the moment has no subject for the rule */
type Alteration = (voices: Changeable, world: VoicesWorld, memory: Memory) => unknown;

const ALTERATIONS: Readonly<Record<string, Alteration>> = {
  'books and dead letters': ({ deadLetters }) => deadLetters.deadLetters.pop(),
  'books and outages': ({ status }) => first(status.outages, (outage) => (outage.failedRuns += 1)),
  'incidents and dead letters': ({ incidents }) =>
    first(incidents.filter(isOpen), ({ members }) => (members.workflow += 1)),
  'incidents and their pages': (voices) =>
    first(voices.incidents.filter(isOpen), ({ id }) => {
      const { next } = voices.incidentDetails.get(id).incident;
      next.text = 'Nothing to do.';
    }),
  'incidents and metrics': ({ incidents }) =>
    first(incidents.filter(isOpen), (incident) => (incident.state = 'resolved')),
  'incidents and outages': ({ incidents, status }) =>
    incidents.some((one: Json) => isOpen(one) && one.kind === 'destination' && one.state !== 'recovering') &&
    first(status.outages, () => (status.outages = [])),
  'outages and incidents': ({ incidents, status }) =>
    first(status.outages, ({ destination }) => {
      for (const incident of incidents) if (incident.place === destination) incident.state = 'resolved';
    }),
  'outages and the service': ({ status }, world) => {
    status.outages = [];
    return PLACES.some((place) => isCertain(place, world));
  },
  'outages and policies': ({ status }) =>
    first(
      status.outages.flatMap(({ reactions }: Json) => reactions),
      (reaction) => (reaction.policy = 'watch-mail'),
    ),
  'next steps of incidents': ({ incidentDetails }) =>
    first(
      [...incidentDetails.values()].filter(({ incident }) => /^Policy \S+ selects/.test(incident.next.text)),
      ({ incident }) => (incident.members.now += 1),
    ),
  'an outage keeps its start': ({ status }, world, { since }) =>
    first(
      status.outages.filter(({ destination }: Json) =>
        PLACES.some((place) => world.hosts[place] === destination && world.isDown(place) && since.has(place)),
      ),
      (outage) => (outage.since += 600_000),
    ),
  'an incident forgets no member': ({ incidents }) => first(incidents, ({ members }) => (members.ever -= 1)),
  'problems on the first page': ({ status: { verdict } }) =>
    verdict.problems.length > 0 && verdict.problems.unshift({ level: verdict.level, text: 'Something else' }),
  'unknown is not zero': ({ incidentDetails }) =>
    first(
      [...incidentDetails.values()].filter(({ incident }) => incident.deliveries?.lost > 0),
      ({ incident }) => (incident.members.isLowerBound = false),
    ),
  'holds of a policy': ({ policies }) =>
    first(
      [...policies.values()].filter(({ policy }) => policy.held !== undefined),
      ({ policy }) => delete policy.held,
    ),
  'last runs': ({ policies }) =>
    first(
      [...policies.values()].filter(({ policy }) => policy.lastRun?.matched > 0),
      ({ policy }) => (policy.lastRun.matched = 0),
    ),
  'matched and books': ({ policies, books }) =>
    first(
      Object.keys(POLICIES).filter((name) => {
        const { place } = POLICIES[name as keyof typeof POLICIES];
        return books[place] > 0 && policies.get(name).policy.lastRun?.outcome === 'held';
      }),
      (name) => (policies.get(name).policy.lastRun.matched = 0),
    ),
  'pending plans': ({ plans }) => first(plans.filter(isPending), (plan) => (plan.state = 'rejected')),
  'plans and their pages': ({ plans, planDetails }) =>
    first(
      plans.filter(({ id }: Json) => planDetails.has(id)),
      ({ id }) => (planDetails.get(id).plan.state = 'draft'),
    ),
  'a decided plan stays decided': ({ plans }, _world, { decided }) =>
    first(
      plans.filter(({ id }: Json) => decided.has(id)),
      (plan) => (plan.state = 'pending'),
    ),
  'nothing is sent into an outage': ({ actions }, world, { resumes }) => {
    const place = PLACES.find((one) => isCertain(one, world) && resumes.has(one));
    return place !== undefined && actions.push({ workflowUrl: `http://${world.hosts[place]}/workflow/${place}` });
  },
  'usable plans are visible': (voices) =>
    first(voices.plans.filter(isPending), ({ id }) => (voices.command = voices.command.replaceAll(id, ''))),
  'a decision comes first': ({ plans, status }) =>
    first(plans.filter(isPending), () => status.verdict.problems.unshift({ level: 'trouble', text: 'Something else' })),
  'explanations and holds': ({ explained }) =>
    first(
      [...explained.values()]
        .flatMap(({ policies }) => policies)
        .filter(({ policy, denial }) => policy !== 'watch-mail' && denial?.guard === 'destination'),
      (verdict) => (verdict.verdict = 'chosen'),
    ),
  'states of pauses': ({ policies, status }) =>
    first(status.pauses, () => {
      for (const { policy } of policies.values()) Object.assign(policy, { effectiveMode: 'enforce', reducedBy: '' });
    }),
};

/** Names of the rules that find the contradiction of their alteration at this moment. */
export function provenRules(voices: Voices, world: VoicesWorld, memory: Memory, except: ReadonlySet<string>): string[] {
  return Object.keys(RULES).filter((rule) => {
    if (except.has(rule)) return false;
    const altered: Changeable = structuredClone(voices);
    const isAltered = Boolean(ALTERATIONS[rule]?.(altered, world, memory));
    const found = isAltered ? contradictions(altered, world, structuredClone(memory)) : [];
    return found.some((one) => one.rule === rule);
  });
}

function first(things: readonly Json[], change: (thing: Json) => unknown): boolean {
  if (things.length > 0) change(things[0]);
  return things.length > 0;
}

function isOpen({ state }: Json): boolean {
  return state !== 'resolved';
}

function isPending({ state }: Json): boolean {
  return state === 'pending';
}
