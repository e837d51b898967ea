/** Repair of an incident in a few words. Red is for incidents without one. Pure. */
import { planPath, policyPath } from '../contract/page-paths.ts';
import type { IncidentView } from '../contract/incidents.ts';
import type { NextStep } from '../situation/next-step.ts';
import { policyLink } from '../show/policy-link.ts';
import { link, state, sub, type Cell } from '#foundation/markup/cell.ts';

/** @param repair undefined: not known */
export function whoRepairs(
  { state: now, acknowledged }: Pick<IncidentView, 'state' | 'acknowledged'>,
  repair: Pick<NextStep, 'by' | 'policy' | 'why' | 'action'> | undefined,
): Cell {
  if (now === 'resolved') return state('ok', 'resolved');
  if (repair?.action?.kind === 'approve') return link(planPath(repair.action.plan), state('ask', 'your approval'));
  if (repair?.why !== undefined) {
    const policy = repair.policy === undefined ? undefined : sub(policyLink(repair.policy));
    return [state(repair.by === 'policy' ? 'attention' : 'trouble', repair.why), policy];
  }
  if (repair?.by === 'policy') {
    return repair.policy === undefined
      ? state('busy', 'the daemon')
      : link(policyPath(repair.policy), state('busy', repair.policy));
  }
  const known = acknowledged && sub(`${acknowledged.by}: ${acknowledged.note}`);
  if (now === 'recovering') return [state('busy', 'delivers again'), known];
  if (now === 'acknowledged') return [state('attention', 'acknowledged'), known];
  return state('trouble', repair === undefined ? 'open' : 'nobody');
}
