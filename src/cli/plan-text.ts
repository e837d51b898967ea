/** A plan for a person: what was read, who was left out and why, what would be done. Pure. */
import { formatDuration } from '../domain/duration.ts';
import type { Plan, Proposal } from '../domain/plan.ts';
import { painter, printable, textTable, type Style } from './output.ts';

/** Entries that are listed; the rest is counted. JSON and YAML have them all. */
const MAX_LISTED = 50;

/** The column in which facts begin. */
const INDENT = ' '.repeat(10);

type Paint = (style: Style, text: string) => string;

export function planText(plan: Plan, options: { readonly color: boolean }): string {
  const paint = painter(options.color);
  return [
    head(plan, paint),
    line('Read', readText(plan)),
    ...modeLines(plan, paint),
    ...stopLines(plan, paint),
    ...chosenLines(plan, paint),
    ...capLines(plan),
    ...listing(plan),
  ]
    .map((text) => `${text}\n`)
    .join('');
}

function head(plan: Plan, paint: Paint): string {
  const irreversible =
    plan.chosen.length > 0 ? 'nothing has been done; a resumed run cannot be cancelled' : 'nothing has been done';
  const name = paint('bold', printable(plan.policy));
  return `Plan ${plan.id}  ${name} (${printable(plan.source)})  ${printable(plan.account)}  ${paint('dim', irreversible)}`;
}

function readText(plan: Plan): string {
  if (plan.read === undefined) return 'nothing was read';
  const { pages, entries, complete, echoChecked, clockSkewMs } = plan.read;
  const parts = [
    `workflow DLQ ${complete ? 'complete' : 'incomplete'}: ${count(pages, 'page')}, ${number(entries)} for the filter`,
    `echo check ${number(echoChecked)}/${number(entries)}`,
    ...(clockSkewMs === undefined ? [] : [`clock skew ${(Math.abs(clockSkewMs) / 1_000).toFixed(1)} s`]),
    ...(plan.evaluationErrors === 0 ? [] : [`the expression failed on ${count(plan.evaluationErrors, 'entry')}`]),
  ];
  return parts.join('; ');
}

/** The mode is worth a line when it keeps the plan from being done. */
function modeLines(plan: Plan, paint: Paint): string[] {
  if (plan.effectiveMode === 'enforce') return [];
  const reduced = plan.mode === plan.effectiveMode ? '' : ` (written as ${plan.mode})`;
  return [line('Mode', `${paint('yellow', plan.effectiveMode)}${reduced}: a run would not act`)];
}

function stopLines(plan: Plan, paint: Paint): string[] {
  if (plan.stopped === undefined) return [];
  const { guard, reason } = plan.stopped;
  const word = plan.state === 'aborted' ? 'Aborted' : 'Held';
  return [line(word, `${paint(plan.state === 'aborted' ? 'red' : 'yellow', printable(guard))}  ${printable(reason)}`)];
}

/** A sum that can be checked: what was listed, less what was left out, is what would be done now or later. */
function chosenLines(plan: Plan, paint: Paint): string[] {
  if (plan.read === undefined) return [];
  const skipped = plan.skipped.map((row) => row.count).reduce((sum, next) => sum + next, 0);
  const matched = plan.chosen.length + plan.backlog;
  const width = number(skipped + matched).length;
  const guardWidth = Math.max(0, ...plan.skipped.map((row) => printable(row.guard).length));
  return [
    line('Chosen', number(skipped + matched)),
    ...plan.skipped.map(
      ({ guard, reason, count }) =>
        `${INDENT}− ${number(count).padStart(width)}  ${printable(guard).padEnd(guardWidth)}  ${printable(reason)}`,
    ),
    `${INDENT}= ${paint('bold', `${number(matched)} matched`)}${matched === 0 ? '' : `: ${number(plan.chosen.length)} now, ${number(plan.backlog)} in later runs`}`,
  ];
}

function capLines(plan: Plan): string[] {
  if (plan.caps.length === 0) return [];
  const caps = plan.caps.map(({ scope, window, used, limit }) => {
    return `${scope === 'policy' ? '' : `${scope} `}${window} ${number(used)} of ${number(limit)}`;
  });
  return [line('Caps', caps.join('   '))];
}

function listing(plan: Plan): string[] {
  if (plan.chosen.length === 0) return [];
  const rows = plan.chosen.slice(0, MAX_LISTED).map((proposal) => proposalRow(proposal, plan.at));
  const more = plan.chosen.length - rows.length;
  const table = textTable(['dlqId', 'run', 'failed', 'cause', 'attempt', 'labels'], rows);
  return [
    ...table
      .trimEnd()
      .split('\n')
      .map((text) => `   ${text}`),
    ...(more === 0 ? [] : [`   … and ${number(more)} more; all of them with -o json`]),
  ];
}

function proposalRow(proposal: Proposal, at: number): readonly string[] {
  if (!('workflowRunId' in proposal)) return [proposal.target, '', '', '', '', ''];
  return [
    proposal.dlqId,
    proposal.workflowRunId,
    `${formatDuration(at - proposal.failedAt)} ago`,
    proposal.status === undefined ? proposal.cause : `${proposal.cause} ${proposal.status}`,
    'attempt' in proposal ? String(proposal.attempt) : '',
    proposal.labels.join(', '),
  ];
}

function line(title: string, text: string): string {
  return `${title.padEnd(INDENT.length)}${text}`;
}

function number(value: number): string {
  return value.toLocaleString('en-US');
}

function count(value: number, noun: string): string {
  if (value === 1) return `1 ${noun}`;
  return `${number(value)} ${noun.endsWith('y') ? `${noun.slice(0, -1)}ies` : `${noun}s`}`;
}
