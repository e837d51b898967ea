/** Plan as text: what was read, which entries were denied and why, the actions, and the next commands. Pure. */
import { counted, formatCount } from '#foundation/domain/counted.ts';
import { formatDuration } from '#foundation/domain/duration.ts';
import { shellWord, type OwnCommand } from '#foundation/domain/own-command.ts';
import { allowedOf, expiryText, type Plan, type PlanCampaign, type Proposal } from '#foundation/domain/plan.ts';
import { painter, printable, textTable, type Style, type TextStyle } from '../output.ts';
import { actRows, CONSEQUENCE } from './plan-acts.ts';

/** Maximum number of listed entries; the rest is counted. JSON and YAML have all of them. */
const MAX_LISTED = 50;
const MAX_CAMPAIGNS = 20;
const MAX_CHECKS = 12;

/** Indent of the facts. */
const INDENT = ' '.repeat(10);
const GAP = '   ';

export interface PlanTextOptions extends TextStyle {
  /** True if a question about the next step follows. */
  readonly isAsked?: boolean;
  /** Formats a command that can be run as printed; default: `opsd` from the path. */
  readonly command?: OwnCommand;
}

/** Page of parts in sequence; a new line begins if the next part does not fit. */
class Page {
  readonly #lines: string[] = [];
  readonly #width: number;
  readonly paint: (style: Style, text: string) => string;

  constructor({ color, width = Infinity }: TextStyle) {
    this.paint = painter(color);
    this.#width = Math.max(40, width);
  }

  /** @param parts plain texts, each with an optional style */
  fact(title: string, parts: readonly Part[], gap = GAP): void {
    let line = title.padEnd(INDENT.length);
    let used = INDENT.length;
    let isFirst = true;
    for (const [index, { text, style }] of parts.entries()) {
      const plain = printable(text);
      if (!isFirst && used + gap.length + plain.length > this.#width) {
        this.#lines.push(line.trimEnd());
        line = INDENT;
        used = INDENT.length;
        isFirst = true;
      }
      line += (isFirst ? '' : gap) + (style === undefined ? plain : this.paint(style, plain));
      used += (isFirst ? 0 : gap.length) + plain.length;
      isFirst = false;
      if (index === parts.length - 1) this.#lines.push(line.trimEnd());
    }
  }

  /** Commands for copying, which are never wrapped. */
  loose(parts: readonly Part[]): void {
    const texts = parts.map(({ text, style }) =>
      style === undefined ? printable(text) : this.paint(style, printable(text)),
    );
    const isWide = parts.reduce((sum, { text }) => sum + text.length + GAP.length, 0) > this.#width;
    this.#lines.push(...(isWide ? texts : [texts.join(GAP)]));
  }

  /** Words of one sentence, wrapped at the width. */
  prose(title: string, text: string, style?: Style): void {
    const words = printable(text).split(' ');
    this.fact(
      title,
      words.map((word) => ({ text: word, ...(style !== undefined && { style }) })),
      ' ',
    );
  }

  /** Unchanged lines, truncated at the terminal's width. */
  lines(texts: readonly string[]): void {
    for (const text of texts) {
      this.#lines.push(text.length > this.#width ? `${text.slice(0, this.#width - 1)}…` : text);
    }
  }

  toString(): string {
    return this.#lines.map((line) => `${line}\n`).join('');
  }
}

interface Part {
  readonly text: string;
  readonly style?: Style;
}

export function planText(plan: Plan, options: PlanTextOptions): string {
  const page = new Page(options);
  head(page, plan);
  page.fact('Read', readParts(plan), '; ');
  authority(page, plan);
  checks(page, plan);
  sum(page, plan);
  campaigns(page, plan);
  caps(page, plan);
  drain(page, plan);
  for (const [index, note] of plan.notes.entries()) page.prose(index === 0 ? 'Note' : '', note);
  listing(page, plan);
  if (options.isAsked !== true) next(page, plan, options.command ?? ((words) => `opsd ${words}`));
  return page.toString();
}

function head(page: Page, plan: Plan): void {
  const done = plan.chosen.length > 0 ? `nothing has been done; ${CONSEQUENCE[plan.action]}` : 'nothing has been done';
  const parts = [
    { text: plan.id ?? 'not kept' },
    { text: plan.policy, style: 'bold' as const },
    { text: `(${plan.source})` },
    { text: plan.account },
    { text: done, style: 'dim' as const },
  ];
  page.fact('Plan', parts, '  ');
}

const SUBJECT: Readonly<Record<Plan['action'], string>> = {
  'workflow-dlq.resume': 'workflow DLQ',
  'workflow-dlq.delete': 'workflow DLQ',
  'message-dlq.delete': 'ids from failure callbacks; no operation lists the messages',
  'message-dlq.prune': 'nothing: no operation lists the messages to delete',
  'budget.raise': 'spend of the account; no operation reads its budget',
};

function readParts(plan: Plan): Part[] {
  const errors = plan.evaluationErrors;
  const failed = errors === 0 ? [] : [`the expression failed on ${counted(errors, 'entry', 'entries')}`];
  if (plan.read === undefined || (plan.read.pages === 0 && !plan.read.complete)) {
    const isUnlisted = plan.read === undefined && !plan.action.startsWith('workflow-dlq');
    return [
      isUnlisted && plan.checks.length + plan.notes.length > 0 ? SUBJECT[plan.action] : 'nothing was read',
      ...failed,
    ].map(part);
  }
  const { pages, entries, complete, filterChecked, population, clockSkewMs } = plan.read;
  const of = population === undefined ? '' : ` of ${counted(population, 'entry', 'entries')}`;
  return [
    `workflow DLQ ${complete ? 'complete' : 'incomplete'}: ${counted(pages, 'page')}, ${formatCount(entries)} for the filter${of}`,
    `filter check ${formatCount(filterChecked)}/${formatCount(entries)}`,
    ...(clockSkewMs === undefined ? [] : [`clock skew ${(Math.abs(clockSkewMs) / 1_000).toFixed(1)} s`]),
    ...failed,
  ].map(part);
}

function part(text: string): Part {
  return { text };
}

/** Mode, hold, approval and overruled limits of the plan. */
function authority(page: Page, plan: Plan): void {
  const { mode, effectiveMode, stopped, needsApproval, overruled, manual } = plan;
  if (manual !== undefined) page.prose('Manual', `by ${manual.by}: ${manual.reason}`);
  if (effectiveMode !== 'enforce') {
    const reduced = mode === effectiveMode ? '' : ` (configured as ${mode})`;
    const waits = manual === undefined ? 'a run would wait for approval' : 'applying it is its approval';
    const then = effectiveMode === 'approve' ? waits : 'a run would not act';
    page.prose('Mode', `${effectiveMode}${reduced}: ${then}`, 'yellow');
  }
  if (stopped !== undefined) {
    const isAborted = plan.state === 'aborted';
    page.prose(isAborted ? 'Aborted' : 'Held', `${stopped.guard}: ${stopped.reason}`, isAborted ? 'red' : 'yellow');
  }
  if (needsApproval !== undefined) {
    page.prose('Approval', `required: ${needsApproval.guard}, ${needsApproval.reason}`, 'yellow');
  }
  if (overruled !== undefined) {
    const settings = Object.entries(overruled.settings).map(([name, value]) => `${name}=${value}`);
    page.prose('Overruled', `once: ${settings.join(' ')}; ${overruled.reason}`, 'yellow');
  }
}

/** Checks of groups and facts. The ramp's result is on the line of its campaign. */
function checks(page: Page, plan: Plan): void {
  const asked = plan.checks.filter(({ guard }) => guard !== 'ramp');
  const failed = asked.filter(({ passed }) => !passed);
  const passed = asked.filter((check) => check.passed);
  const texts = [...failed, ...passed].map(({ guard, reason, passed: ok }): Part => ({
    text: `${ok ? '✓' : '✗'} ${guard} ${reason}`,
    style: ok ? 'green' : 'red',
  }));
  const different = [...new Map(texts.map((one) => [one.text, one])).values()];
  if (different.length === 0) return;
  const more = different.length - MAX_CHECKS;
  page.fact('Guards', [
    ...different.slice(0, MAX_CHECKS),
    ...(more > 0 ? [{ text: `and ${formatCount(more)} more`, style: 'dim' as const }] : []),
  ]);
}

/** Verifiable sum: the listed entries minus the denied ones are the actions of this run and of later runs. */
function sum(page: Page, plan: Plan): void {
  if (plan.action === 'message-dlq.prune' || plan.action === 'budget.raise') return;
  if (plan.action.startsWith('workflow-dlq') && plan.read?.complete !== true) return;
  const skipped = plan.skipped.reduce((all, row) => all + row.count, 0);
  const allowed = allowedOf(plan);
  const all = skipped + allowed;
  const width = formatCount(all).length;
  const guardWidth = Math.max(0, ...plan.skipped.map(({ guard }) => printable(guard).length));
  page.fact('Chosen', [part(formatCount(all))]);
  page.lines(
    plan.skipped.map(
      ({ guard, reason, count }) =>
        `${INDENT}− ${formatCount(count).padStart(width)}  ${printable(guard).padEnd(guardWidth)}  ${printable(reason)}`,
    ),
  );
  const { matched = allowed } = plan;
  const what = matched === allowed ? 'matched' : `allowed of ${formatCount(matched)} matched`;
  const sum = { text: `= ${formatCount(allowed)} ${what}`, style: 'bold' as const };
  const split = `${formatCount(plan.chosen.length)} now, ${formatCount(plan.backlog)} in later runs`;
  page.fact('', allowed === 0 ? [sum] : [sum, part(split)], ': ');
}

function campaigns(page: Page, plan: Plan): void {
  const shown = plan.campaigns.slice(0, MAX_CAMPAIGNS);
  for (const [index, campaign] of shown.entries()) page.fact(index === 0 ? 'Campaign' : '', campaignParts(campaign));
  const more = plan.campaigns.length - shown.length;
  if (more > 0) page.fact('', [part(`… and ${counted(more, 'more group')}; all of them with -o json`)]);
}

function campaignParts({ group, step, now, next, verified, judged, matched, held }: PlanCampaign): Part[] {
  const then = next.length === 0 || matched <= now ? '' : `, then ${next.map(formatCount).join(', ')}`;
  const sofar =
    judged === 0 ? 'nothing judged yet' : `verified so far: ${formatCount(verified)} of ${formatCount(judged)}`;
  return [
    { text: group === '' ? 'all' : group, style: 'bold' },
    part(`step ${step}: ${formatCount(now)} of ${formatCount(matched)} now${then}`),
    part(sofar),
    ...(held === undefined ? [] : [{ text: `waits: ${held.guard}, ${held.reason}`, style: 'yellow' as const }]),
  ];
}

function caps(page: Page, plan: Plan): void {
  if (plan.caps.length === 0) return;
  const why = plan.caps.find((cap) => cap.why !== undefined)?.why;
  page.fact('Caps', [
    ...plan.caps.map(({ scope, window, used, limit }) => ({
      text: `${scope === 'policy' ? '' : `${scope} `}${window} ${formatCount(used)} of ${formatCount(limit)}`,
      ...(used >= limit && { style: 'yellow' as const }),
    })),
    ...(why === undefined ? [] : [part(why)]),
  ]);
}

function drain(page: Page, { drain: left, stopped, campaigns: groups }: Plan): void {
  if (left === undefined) return;
  const about = left.ms < 60_000 ? 'one run' : `about ${formatDuration(Math.ceil(left.ms / 60_000) * 60_000)}`;
  // The end of a halt is known, and included in the time.
  const hold = [stopped, ...groups.map(({ held }) => held)].find((one) => one !== undefined && one.guard !== 'ramp');
  const inTime = left.ms < 60_000 ? 'this run' : about;
  const time = hold === undefined ? inTime : `${about} after the hold by ${hold.guard} ends`;
  const isLosing = left.expiring !== undefined && left.expiring > 0;
  const first = isLosing ? [part('entries that expire first are resumed first')] : [];
  page.fact(
    'Drain',
    [part(time), { text: expiryText(left), ...(isLosing && { style: 'yellow' as const }) }, ...first],
    '; ',
  );
}

/** List of actions; if none is in this run, the waiting ones. */
function listing(page: Page, plan: Plan): void {
  const acts = actsOf(plan);
  if (acts.length === 0) return;
  const shown = acts.slice(0, MAX_LISTED);
  const waits = plan.chosen.length === 0;
  const [header = [], ...rows] = actRows(plan, shown);
  const more = (waits ? allowedOf(plan) : acts.length) - shown.length;
  if (waits) page.lines(['   Waiting; none is in this run:']);
  page.lines(
    textTable(header, rows)
      .trimEnd()
      .split('\n')
      .map((text) => `   ${text}`),
  );
  if (more > 0) page.lines([`   … and ${formatCount(more)} more${waits ? '' : '; all of them with -o json'}`]);
}

function actsOf({ chosen, deferred = [] }: Plan): readonly Proposal[] {
  return chosen.length > 0 ? chosen : deferred;
}

/** Next commands. */
function next(page: Page, plan: Plan, command: OwnCommand): void {
  const [first] = actsOf(plan);
  const mayApply = plan.effectiveMode === 'enforce' || plan.effectiveMode === 'approve';
  const settles = plan.overruled?.settings['ramp.settle'] !== undefined && allowedOf(plan) > 0;
  const isApplied = mayApply && (plan.state === 'changes' || (plan.state === 'held' && settles));
  const commands = [
    ...(isApplied ? [{ text: applying(plan, command), style: 'cyan' as const }] : []),
    ...(first !== undefined && 'dlqId' in first ? [part(`One entry: ${command(`explain ${first.dlqId}`)}`)] : []),
  ];
  if (commands.length > 0) page.loose(commands);
  const limit = mayApply ? overrulable(plan) : undefined;
  if (limit !== undefined) {
    const again = command(`plan ${plan.policy} --once --set ${limit} --reason "…"`);
    page.loose([
      part(plan.manual === undefined ? `Overrule once: ${again}` : `Overrule: the same command with --set ${limit}`),
    ]);
  }
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
