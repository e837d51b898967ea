/** Rules about outages, incidents and dead letters. */
import { claim, differ, missing, plain, type Found, type Json, type Rule } from './rule.ts';
import { ACCOUNT, MINUTE, PLACES, POLICIES, type Place, type PolicyName, type VoicesWorld } from './world.ts';

/** Failures in some minutes after which nobody can take a destination for one that delivers. */
const CERTAIN = { failures: 20, minutes: 12 };
/** Length of a problem's text that is compared with the page. */
const HEAD = 60;

export const OUTAGE_RULES: Readonly<Record<string, Rule>> = {
  'books and dead letters': ({ books, deadLetters }) =>
    PLACES.flatMap((place) => {
      const listed = deadLetters.deadLetters.filter(({ labels }: Json) => labels.includes(place)).length;
      return differ(place, { books: books[place], deadLetters: listed });
    }),

  'books and outages': ({ books, status }, world) =>
    status.outages.flatMap(({ destination, failedRuns }: Json) =>
      differ(destination, { books: books[placeOf(destination, world)], failedRuns }),
    ),

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
        ...differ(row.id, { list: row.members, detail: detail.members }),
        ...missing(row.id, 'its page', page, detail.title),
        ...missing(row.id, 'its page', page, detail.next.text),
        ...missing(row.id, 'its page', page, buttonOf(detail.next.command)),
      ];
    }),

  'incidents and metrics': ({ incidents, metrics }) =>
    ['open', 'recovering', 'acknowledged'].flatMap((state) =>
      differ(state, {
        list: incidents.filter((incident) => incident.state === state).length,
        metric: metrics.sum('opsd_incidents', { state }),
      }),
    ),

  'incidents and outages': ({ incidents, status }) =>
    incidents.flatMap(({ kind, place, state, members, deliveries }) => {
      if (kind !== 'destination') return [];
      const isDown = status.outages.some(({ destination }: Json) => destination === place);
      const isOpen = state === 'open' || state === 'acknowledged';
      return [
        ...claim(!isOpen || isDown || members.now > 0, place, `incident ${state}, but no outage`),
        ...(isOpen && isDown ? differ(place, { isDown, isFailing: deliveries.isFailing }) : []),
        ...claim(!isDown || state !== 'recovering', place, 'incident recovering, but an outage'),
      ];
    }),

  'outages and incidents': ({ incidents, status }) =>
    status.outages.flatMap(({ destination }: Json) => {
      const own = incidents.filter(({ kind, place }) => kind === 'destination' && place === destination);
      return claim(
        own.some(({ state }) => state !== 'resolved'),
        destination,
        'an outage, but no open incident',
      );
    }),

  'outages and the service': ({ status }, world) =>
    PLACES.flatMap((place) => {
      const isShown = status.outages.some(({ destination }: Json) => destination === world.hosts[place]);
      return claim(!isCertain(place, world) || isShown, place, 'fails all, but no outage is shown');
    }),

  'outages and policies': ({ status, incidentDetails }, world) =>
    status.outages.flatMap(({ destination, reactions }: Json) => {
      const place = placeOf(destination, world);
      const selecting = [...incidentDetails.values()]
        .filter(({ incident }) => incident.kind === 'workflow' && incident.place.startsWith(`${destination}/`))
        .flatMap(({ incident }) => incident.policies.map(({ name }: Json) => name));
      return [
        ...differ(destination, {
          outage: reactions.map(({ policy }: Json) => policy).toSorted(),
          incidents: [...new Set<string>(selecting)].toSorted(),
        }),
        ...reactions.flatMap(({ policy, text, isActing }: Json) => {
          const { place: own, mode } = POLICIES[policy as PolicyName];
          const isPaused = status.pauses.some(({ scope }: Json) => scope === 'engine' || scope === `policy/${policy}`);
          return [
            ...claim(own === place, `${place} ${policy}`, `${policy} selects no run there: ${text}`),
            ...claim(mode !== 'audit' || !isActing, policy, `it will send nothing: ${text}`),
            ...claim(mode !== 'audit' || !/waits until/.test(text), policy, `it waits for nothing: ${text}`),
            ...claim(!isPaused || !isActing, policy, `it is paused: ${text}`),
          ];
        }),
      ];
    }),

  'next steps of incidents': ({ incidentDetails, plans, policies, status }) =>
    [...incidentDetails].flatMap(([id, { incident }]) => {
      const { next, members, kind, place } = incident;
      const [, policy, selects, of] = /^Policy (\S+) selects ([\d,]+) of ([\d,]+)/.exec(next.text) ?? [];
      const plan = /^Plan (\S+) of \S+ (waits|is approved)/.exec(next.text);
      const own = incident.policies.find(({ name }: Json) => name === policy);
      const acting = incident.policies.filter(({ effectiveMode }: Json) => /enforce|approve/.test(effectiveMode));
      const isDown = status.outages.some(({ destination }: Json) => destination === place);
      const says = (words: RegExp): boolean => words.test(next.text);
      return [
        ...(policy === undefined
          ? []
          : differ(id, { next: [selects, of], own: [String(own?.selects), String(members.now)] })),
        ...(policy === undefined
          ? []
          : differ(id, { incident: own.effectiveMode, policy: policies.get(policy)?.policy.effectiveMode })),
        ...(plan === null
          ? []
          : differ(id, {
              next: plan[2] === 'waits' ? 'pending' : 'approved',
              plan: plans.find((one) => one.id === plan[1])?.state,
            })),
        ...claim(acting.length === 0 || !says(/resume the runs with a plan/), id, `a policy acts: ${next.text}`),
        ...claim(members.now === 0 || !says(/deliveries still fail/), id, `it has members: ${next.text}`),
        ...claim(kind !== 'destination' || !isDown || !says(/delivers again/), id, `it is down: ${next.text}`),
      ];
    }),

  'an outage keeps its start': ({ status }, world, { since }) =>
    PLACES.flatMap((place) => {
      const outage = status.outages.find(({ destination }: Json) => destination === world.hosts[place]);
      const before = since.get(place);
      if (!world.isDown(place)) since.delete(place);
      if (outage === undefined || !world.isDown(place)) return [];
      since.set(place, before ?? outage.since);
      const said = `since ${new Date(before ?? 0).toISOString()}, now ${new Date(outage.since).toISOString()}`;
      return claim(before === undefined || outage.since <= before + MINUTE, place, said);
    }),

  'an incident forgets no member': ({ incidents }, _world, { ever }) =>
    incidents.flatMap(({ id, members, deliveries }) => {
      const counted = members.ever + (deliveries?.failed ?? 0);
      const before = ever.get(id) ?? 0;
      ever.set(id, Math.max(before, counted));
      return claim(counted >= before, id, `${before} before, ${counted} now`);
    }),

  'problems on the first page': ({ status, incidents, command, pages }): Found[] => {
    const { level, sentence, problems } = status.verdict;
    const page = plain(pages.get('/')!);
    const worst = problems.find((problem: Json) => problem.level === level);
    // Incidents and plans have rows of their own.
    const others = problems.filter(
      (problem: Json) => problem !== worst && !/^\/(?:incidents|plans)\//.test(problem.path ?? ''),
    );
    const open = incidents.filter(({ state }) => state !== 'resolved').length;
    let at = 0;
    return [
      ...missing('headline', '`opsd status`', command, sentence),
      ...(open === 0 ? [] : missing('incidents', 'the first page', page, `${open} unresolved`)),
      ...(worst === undefined ? [] : [worst, ...others]).flatMap(({ text }: Json) => {
        const [head] = plain(text).slice(0, HEAD).split(/: \d/, 1);
        const found = page.indexOf(head!, at);
        at = Math.max(at, found);
        return claim(found !== -1, 'problems', `the first page lacks, or has too early: ${head}`);
      }),
    ];
  },

  'unknown is not zero': ({ incidentDetails, pages, metrics }) => {
    const counted = metrics.value('msgsvc_account_dlq_messages', { account: ACCOUNT }) ?? 0;
    return [...incidentDetails].flatMap(([id, { incident }]) => {
      if (incident.kind !== 'destination' || incident.deliveries?.lost === 0 || counted === 0) return [];
      const page = pages.get(`/incidents/${id}`)!;
      return [
        ...differ(id, { deliveriesLost: true, isLowerBound: incident.members.isLowerBound }),
        ...missing(id, 'its page', page, `at least ${incident.members.now} known`),
      ];
    });
  },
};

/** Button of the page for the command of a next step. */
function buttonOf(command: string | undefined): string {
  const [, policy] = /^opsd plan (\S+)$/.exec(command ?? '') ?? [];
  if (policy !== undefined) return `Open ${policy}`;
  const [, button = ''] = BUTTONS.find(([start]) => command?.startsWith(start)) ?? [];
  return button;
}

const BUTTONS = [
  ['opsd dlq resume', 'Plan to resume'],
  ['opsd approve', 'Approve'],
  ['opsd apply', 'Apply'],
  ['opsd reject', 'Take the approval back'],
  ['opsd cancel', 'Cancel the rest'],
  ['opsd unpause', 'Lift the halt'],
] as const;

function placeOf(host: string, world: VoicesWorld): Place {
  return PLACES.find((one) => world.hosts[one] === host)!;
}

export function isCertain(place: Place, world: VoicesWorld): boolean {
  return world.failures(place, CERTAIN.minutes) >= CERTAIN.failures;
}
