/**
 * What the voices of a daemon must not do at one moment: contradict each other, the books of the service, or what they
 * said before. Each rule compares two of them, and returns its contradictions with their subjects.
 */
import type { Voices } from './ask.ts';
import { ACCOUNT, MINUTE, PLACES, POLICIES, type Place, type PolicyName, type VoicesWorld } from './world.ts';

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

/** Facts that outlive a moment. */
export interface Memory {
  /** States of plans that were decided, by id. */
  readonly decided: Map<string, string>;
  /** Start of an outage that still lasts, by destination. */
  readonly since: Map<string, number>;
  /** Members that an incident ever had, by id. */
  readonly ever: Map<string, number>;
  /** Resumes into a destination at the moment when its outage was certain. */
  readonly resumes: Map<Place, number>;
}

export function emptyMemory(): Memory {
  return { decided: new Map(), since: new Map(), ever: new Map(), resumes: new Map() };
}

export interface Contradiction {
  readonly rule: string;
  readonly subject: string;
  readonly said: string;
}

type Found = readonly [subject: string, said: string];
type Rule = (voices: Voices, world: VoicesWorld, memory: Memory) => readonly Found[];

export function contradictions(voices: Voices, world: VoicesWorld, memory: Memory): Contradiction[] {
  return Object.entries(RULES).flatMap(([rule, check]) =>
    check(voices, world, memory).map(([subject, said]) => ({ rule, subject, said })),
  );
}

const DECIDED = new Set(['rejected', 'applied', 'expired', 'replaced', 'cancelled']);
const USABLE = new Set(['pending', 'approved']);
/** Failures in some minutes after which nobody can take a destination for one that delivers. */
const CERTAIN = { failures: 20, minutes: 12 };

const RULES: Readonly<Record<string, Rule>> = {
  'books and dead letters': ({ books, deadLetters }) =>
    PLACES.flatMap((place) => {
      const listed = deadLetters.deadLetters.filter(({ labels }: Json) => labels.includes(place)).length;
      return differ(place, { books: books[place], deadLetters: listed });
    }),

  'incidents and dead letters': ({ incidents, deadLetters }) => {
    const open = incidents.filter(({ state }) => state !== 'resolved');
    const members = open.reduce((sum, incident) => sum + incident.members.workflow, 0);
    return differ('members', { incidents: members, deadLetters: deadLetters.deadLetters.length });
  },

  'incidents and their pages': ({ incidents, incidentDetails, pages }) =>
    incidents.flatMap((row) => {
      const detail = incidentDetails.get(row.id)?.incident;
      if (detail === undefined) return [];
      const page = pages.get(`/incidents/${row.id}`)!;
      return [
        ...differ(row.id, { list: row.state, detail: detail.state }),
        ...differ(row.id, { list: row.title, detail: detail.title }),
        ...missing(row.id, 'its page', page, detail.next.text),
      ];
    }),

  'incidents and metrics': ({ incidents, metrics }) =>
    ['open', 'recovering', 'acknowledged'].flatMap((state) =>
      differ(state, {
        list: incidents.filter((incident) => incident.state === state).length,
        metric: metrics.sum('opsd_incidents', { state }),
      }),
    ),

  'incidents and destinations': ({ incidents, status }) =>
    incidents.flatMap((incident) => {
      if (incident.kind !== 'destination') return [];
      const isDown = status.outages.some(({ destination }: Json) => destination === incident.place);
      const isOpen = incident.state === 'open' || incident.state === 'acknowledged';
      return isOpen && !isDown && incident.members.now === 0
        ? [[incident.place, `incident ${incident.state}, but no outage of ${incident.place}`] as const]
        : [];
    }),

  'outages and the service': ({ status }, world) =>
    PLACES.flatMap((place) => {
      const isShown = status.outages.some(({ destination }: Json) => destination === world.hosts[place]);
      const isFailing = isCertain(place, world);
      return isFailing && !isShown ? [[place, 'fails all, but no outage is shown'] as const] : [];
    }),

  'outages and policies': ({ status }, world) =>
    status.outages.flatMap(({ destination, reactions }: Json) => {
      const place = PLACES.find((one) => world.hosts[one] === destination)!;
      return reactions.flatMap(({ policy, text }: Json) => {
        const { place: own, mode } = POLICIES[policy as PolicyName];
        const isSilent = mode === 'audit' && /waits until/.test(text);
        return [
          ...(own === place ? [] : [[`${place} ${policy}`, `${policy} selects no run there: ${text}`] as const]),
          ...(isSilent ? [[policy, `it will send nothing: ${text}`] as const] : []),
        ];
      });
    }),

  'incidents and policies': ({ incidentDetails }) =>
    [...incidentDetails].flatMap(([id, { incident }]) => {
      const { next, policies, members } = incident;
      const none = /No policy selects/.test(next.text) && policies.length > 0;
      const empty = /No dead letter is left/.test(next.text) && members.now > 0;
      return none || empty ? [[id, `${next.text} (${members.now} members, ${policies.length} policies)`] as const] : [];
    }),

  'holds of a policy': ({ policies, conditions, pages, metrics }) =>
    [...policies].flatMap(([name, { policy }]) => {
      const condition = conditions.some(({ key }) => key === `held/${name}`);
      const since = metrics.value('opsd_policy_held_since_timestamp_seconds', { policy: name });
      const isHeld = policy.held !== undefined;
      return [
        ...differ(name, { policy: isHeld, condition }),
        ...differ(name, { policy: isHeld, metric: since !== undefined && since > 0 }),
        ...(isHeld ? missing(name, 'its page', pages.get(`/policies/${name}`)!, policy.held.guard) : []),
      ];
    }),

  'last runs': ({ policies, metrics }) =>
    [...policies].flatMap(([name, { policy, runs }]) => {
      const { lastRun } = policy;
      if (lastRun === undefined || lastRun.outcome === 'running') return [];
      const matched = metrics.value('opsd_policy_matched_items', { policy: name });
      return [
        ...differ(name, { policy: lastRun.outcome, runs: runs[0].outcome }),
        ...(matched === undefined ? [] : differ(name, { lastRun: lastRun.matched, metric: matched })),
      ];
    }),

  'matched and books': ({ policies, books }) =>
    [...policies].flatMap(([name, { policy }]) => {
      const waiting = books[POLICIES[name as PolicyName].place];
      const { outcome, matched } = policy.lastRun ?? {};
      return matched === 0 && waiting > 0 && outcome === 'held'
        ? [[name, `0 matched while ${waiting} runs wait`] as const]
        : [];
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
          ...(isSaid && own === 0 ? [[name, 'last run is pending approval, but no plan is pending'] as const] : []),
        ];
      }),
    ];
  },

  'plans and their pages': ({ plans, planDetails }) =>
    plans.flatMap((row) => {
      const detail = planDetails.get(row.id)?.plan;
      return detail === undefined ? [] : differ(row.id, { list: row.state, detail: detail.state });
    }),

  'a decided plan stays decided': ({ plans }, _world, { decided }) =>
    plans.flatMap(({ id, state }) => {
      const before = decided.get(id);
      if (DECIDED.has(state)) decided.set(id, before ?? state);
      return before === undefined ? [] : differ(id, { before, now: state });
    }),

  'an outage keeps its start': ({ status }, world, { since }) =>
    PLACES.flatMap((place) => {
      const outage = status.outages.find(({ destination }: Json) => destination === world.hosts[place]);
      const before = since.get(place);
      if (!world.isDown(place)) since.delete(place);
      if (outage === undefined || !world.isDown(place)) return [];
      since.set(place, before ?? outage.since);
      return before !== undefined && outage.since > before + MINUTE
        ? [[place, `since ${new Date(before).toISOString()}, now ${new Date(outage.since).toISOString()}`] as const]
        : [];
    }),

  'an incident forgets no member': ({ incidents }, _world, { ever }) =>
    incidents.flatMap(({ id, members, deliveries }) => {
      const counted = members.ever + (deliveries?.failed ?? 0);
      const before = ever.get(id) ?? 0;
      ever.set(id, Math.max(before, counted));
      return counted < before ? [[id, `${before} before, ${counted} now`] as const] : [];
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

  'usable plans are visible': ({ plans, pages, command, policies, incidentDetails, books }) =>
    plans
      .filter(({ state, origin }) => USABLE.has(state) && origin === 'policy')
      .flatMap(({ id, policy, state }) => {
        const place = POLICIES[policy as PolicyName].place;
        const own = [...incidentDetails.values()].filter(({ incident }) =>
          incident.labels.some(({ name }: Json) => name === place),
        );
        return [
          ...missing(id, `the first page (${state})`, pages.get('/')!, id),
          ...missing(id, `\`opsd status\` (${state})`, command, id),
          ...missing(id, `the page of ${policy} (${state})`, pages.get(`/policies/${policy}`)!, id),
          ...missing(id, `${policy} (${state})`, JSON.stringify(policies.get(policy)), id),
          ...(books[place] === 0
            ? []
            : own.flatMap(({ incident }) =>
                missing(id, `incident ${incident.id} (${state})`, JSON.stringify(incident), id),
              )),
        ];
      }),

  'a decision comes first': ({ plans, status }) => {
    const pending = plans.filter(({ state }) => state === 'pending');
    const [first] = status.verdict.problems;
    return pending.length === 0 || pending.some(({ policy }) => first.text.includes(policy))
      ? []
      : [['headline', `${pending.map(({ policy }) => policy).join()} waits, but first is: ${first.text}`] as const];
  },

  'explanations and holds': ({ explained, policies }) =>
    [...explained].flatMap(([place, { policies: verdicts }]) =>
      verdicts.flatMap(({ policy, verdict, denial }: Json) => {
        const held = policies.get(policy)?.policy.held;
        const { place: own, mode } = POLICIES[policy as PolicyName];
        // In audit, the mode keeps a run from acting, whatever holds it besides.
        if (own !== place || mode === 'audit' || held === undefined) return [];
        const isSaid = verdict !== 'chosen' && denial?.guard === held.guard;
        return isSaid
          ? []
          : [[`${policy} ${place}`, `held by ${held.guard}, but ${verdict} ${denial?.guard}`] as const];
      }),
    ),

  'headline, command and first page': ({ status, command, pages }) => [
    ...missing('headline', 'the first page', spaces(pages.get('/')!), withoutTime(status.verdict.sentence)),
    ...missing('headline', '`opsd status`', spaces(command), withoutTime(status.verdict.sentence)),
  ],

  'states of pauses': ({ status, policies }) =>
    [...policies].flatMap(([name, { policy }]) => {
      const isPaused = status.pauses.some(({ scope }: Json) => scope === 'engine' || scope === `policy/${name}`);
      return isPaused && policy.effectiveMode !== 'off' && !/paused/.test(policy.reducedBy ?? '')
        ? [[name, `paused, but runs as ${policy.effectiveMode}`] as const]
        : [];
    }),

  'nothing is said of what cannot be listed': ({ incidentDetails, metrics }) => {
    const counted = metrics.value('msgsvc_dlq_messages', { account: ACCOUNT });
    if (counted === undefined || counted === 0) return [];
    return [...incidentDetails].flatMap(([id, { incident }]) =>
      /No dead letter is left/.test(incident.next.text)
        ? [[id, `${counted} dead letters: ${incident.next.text}`] as const]
        : [],
    );
  },
};

function isCertain(place: Place, world: VoicesWorld): boolean {
  return world.failures(place, CERTAIN.minutes) >= CERTAIN.failures;
}

function differ(subject: string, said: Readonly<Record<string, unknown>>): Found[] {
  const values = Object.values(said).map((value) => JSON.stringify(value));
  return values.every((value) => value === values[0]) ? [] : [[subject, JSON.stringify(said)]];
}

function missing(subject: string, where: string, text: string, what: string): Found[] {
  return text.includes(what) ? [] : [[subject, `${where} lacks: ${what}`]];
}

/** The text up to its first figure of time, which moves while voices are asked. */
function withoutTime(text: string): string {
  return text.split(/ (?:since|for at least) /, 1)[0]!;
}

function spaces(text: string): string {
  return text.replaceAll(/\s+/g, ' ');
}
