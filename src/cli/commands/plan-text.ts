/** Plan as text: what was read, which entries were denied and why, the actions, and the next commands. Pure. */
import { stripVTControlCharacters } from 'node:util';
import { formatCount } from '#foundation/domain/counted.ts';
import { shellWord, type OwnCommand } from '#foundation/domain/own-command.ts';
import { allowedOf, type Plan, type Proposal } from '#foundation/domain/plan.ts';
import { lines, strong, type Cell } from '#foundation/markup/cell.ts';
import { planActions, planAuthority, planLimits, planSelection } from '#operate/show/plan.ts';
import { factsText, shortTable } from '#operate/show/text.ts';
import { painter, printable, textTable, type TextStyle } from '../output.ts';
import { CONSEQUENCE } from '#operate/show/plan-acts.ts';

/** Maximum number of listed entries; the rest is counted. JSON and YAML have all of them. */
const MAX_LISTED = 50;
const GAP = '   ';

export interface PlanTextOptions extends TextStyle {
  /** True if a question about the next step follows. */
  readonly isAsked?: boolean;
  /** Formats a command that can be run as printed; default: `opsd` from the path. */
  readonly command?: OwnCommand;
}

export function planText(plan: Plan, options: PlanTextOptions): string {
  const { command = (words) => `opsd ${words}`, width = Infinity } = options;
  const rows = {
    Plan: lines(headParts(plan), '  '),
    ...planAuthority(plan),
    ...planSelection(plan),
    ...planLimits(plan),
  };
  const room = Math.max(40, width);
  const listed = listing(plan).map((text) => (text.length > room ? `${text.slice(0, room - 1)}…` : text));
  const next = options.isAsked === true ? [] : nextLines(plan, command, options);
  return `${factsText(rows, options)}${[...listed, ...next].map((text) => `${text}\n`).join('')}`;
}

function headParts({ id, policy, source, account, chosen, action }: Plan): Cell[] {
  const done = chosen.length > 0 ? `nothing has been done; ${CONSEQUENCE[action]}` : 'nothing has been done';
  return [id ?? 'not kept', strong(policy), `(${source})`, account, done];
}

/** List of actions; if none is in this run, the waiting ones. */
function listing(plan: Plan): string[] {
  const acts = actsOf(plan);
  if (acts.length === 0) return [];
  const shown = acts.slice(0, MAX_LISTED);
  const waits = plan.chosen.length === 0;
  const [header = [], ...rows] = shortTable(planActions(plan, shown));
  const more = (waits ? allowedOf(plan) : acts.length) - shown.length;
  return [
    ...(waits ? ['Waiting; none is in this run:'] : []),
    ...textTable(header, rows).trimEnd().split('\n'),
    ...(more > 0 ? [`… and ${formatCount(more)} more${waits ? '' : '; all of them with -o json'}`] : []),
  ].map((text) => `   ${text}`);
}

function actsOf({ chosen, deferred = [] }: Plan): readonly Proposal[] {
  return chosen.length > 0 ? chosen : deferred;
}

/** Next commands, which are never wrapped. */
function nextLines(plan: Plan, command: OwnCommand, { color, width = Infinity }: TextStyle): string[] {
  const [first] = actsOf(plan);
  const mayApply = plan.effectiveMode === 'enforce' || plan.effectiveMode === 'approve';
  const settles = plan.overruled?.settings['ramp.settle'] !== undefined && allowedOf(plan) > 0;
  const isApplied = mayApply && (plan.state === 'changes' || (plan.state === 'held' && settles));
  const commands = [
    isApplied && painter(color)('cyan', printable(applying(plan, command))),
    first !== undefined && 'dlqId' in first && printable(`One entry: ${command(`explain ${first.dlqId}`)}`),
  ].filter((text) => text !== false);
  const oneLine = commands.join(GAP);
  const isWide = stripVTControlCharacters(oneLine).length > Math.max(40, width);
  const limit = mayApply ? overrulable(plan) : undefined;
  return [...(isWide || commands.length === 0 ? commands : [oneLine]), ...overruling(plan, limit, command)];
}

function overruling({ policy, manual }: Plan, limit: string | undefined, command: OwnCommand): string[] {
  if (limit === undefined) return [];
  if (manual !== undefined) return [printable(`Overrule: the same command with --set ${limit}`)];
  return [printable(`Overrule once: ${command(`plan ${policy} --once --set ${limit} --reason "…"`)}`)];
}

/** Command that applies a kept plan, or keeps one, so that it can be applied. */
function applying({ id, policy, overruled }: Plan, command: OwnCommand): string {
  if (id !== undefined) return `Apply with: ${command(`apply ${id}`)}`;
  const settings = Object.entries(overruled?.settings ?? {}).map(([name, value]) => ` --set ${name}=${value}`);
  const once = overruled && ` --once${settings.join('')} --reason ${shellWord(overruled.reason)}`;
  return `To apply it, keep it: ${command(`plan ${shellWord(policy)}${once ?? ''} --keep`)}`;
}

/** Limit that restricts the plan, if an operator can overrule it, with a suggested value. */
function overrulable(plan: Plan): string | undefined {
  if (plan.state === 'aborted' || plan.overruled !== undefined) return undefined;
  if (plan.stopped?.guard === 'min_interval') return 'limits.minInterval=1s';
  if (plan.needsApproval?.guard === 'tripwire') return `limits.maxMatched=${allowedOf(plan)}`;
  const own = plan.caps.filter(({ scope }) => scope === 'policy');
  const full = own.find(({ used, limit }) => used + plan.chosen.length >= limit);
  if (full === undefined || (plan.backlog === 0 && plan.stopped?.guard !== 'caps')) return undefined;
  const name = full.window === 'hour' ? 'limits.maxPerHour' : 'limits.maxPerDay';
  return `${name}=${Math.max(full.limit * 3, full.used + allowedOf(plan))}`;
}
