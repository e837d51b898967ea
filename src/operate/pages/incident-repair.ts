/** Who repairs an incident, in a few words. Red is for what nobody repairs. Pure. */
import { planPath } from '../contract/page-paths.ts';
import type { IncidentView } from '../contract/incidents.ts';
import type { NextStep } from '../situation/next-step.ts';
import { link, state, sub, type Cell } from '../show/cell.ts';
import { policyLink } from '../show/policy-link.ts';

/** @param repair undefined: not known */
export function whoRepairs(
  { state: now, acknowledged }: Pick<IncidentView, 'state' | 'acknowledged'>,
  repair: Pick<NextStep, 'by' | 'policy' | 'why' | 'action'> | undefined,
): Cell {
  if (now === 'resolved') return state('ok', 'resolved');
  if (repair?.action?.kind === 'approve') {
    return [state('ask', 'your approval'), sub(link(planPath(repair.action.plan), `plan ${repair.action.plan}`))];
  }
  const policy = repair?.policy === undefined ? undefined : sub(policyLink(repair.policy));
  if (repair?.why !== undefined) return [state(repair.by === 'policy' ? 'attention' : 'trouble', repair.why), policy];
  if (repair?.by === 'policy') {
    return [state('busy', 'being repaired'), policy];
  }
  const known = acknowledged && sub(`${acknowledged.by}: ${acknowledged.note}`);
  if (now === 'recovering') return [state('busy', 'delivers again'), known];
  if (now === 'acknowledged') return [state('attention', 'acknowledged'), known];
  return state('trouble', repair === undefined ? 'open' : 'nobody');
}
