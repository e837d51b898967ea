/** Page of the policies: mode, last and next run, and what holds each of them. */
import type { OwnCommand } from '#foundation/domain/own-command.ts';
import { runNumbersText } from '#foundation/domain/counted.ts';
import { formatAge } from '#foundation/domain/time-text.ts';
import { counted, formatCount, formatSpan } from '../api/format.ts';
import { readPolicies } from '../api/status.ts';
import type { PolicyView, RunView } from '../contract/policies.ts';
import type { Reply } from '../http/reply.ts';
import { isShown, pageCommand, showPage, withCommands, type PageContext } from './frame/page.ts';
import { campaigns } from '../show/campaigns.ts';
import { policyLink } from '../show/policy-link.ts';
import {
  type Cell,
  type Look,
  moment,
  section,
  state,
  sub,
  table,
  timePiece,
  type Tone,
  wide,
} from '#foundation/markup/cell.ts';
import { html, long } from '#foundation/markup/html.ts';

/** Maximum characters of a title. */
const MOST_TITLE = 200;

export async function policiesPage(context: PageContext): Promise<Reply> {
  const read = withCommands(context, await readPolicies(context.deps, context.signal));
  const { at, storeError } = read;
  const rows = read.policies.filter(isShown(context));
  const runs = Map.groupBy(read.runs, ({ policy }) => policy);
  return showPage(context, {
    title: 'Policies',
    section: '/policies',
    main: html`${storeError !== undefined && html`<p class="notice trouble">The store cannot be read: ${storeError}</p>`}
    ${section('policies', 'Policies of the configuration', policies(rows, { runs, now: at, command: pageCommand(context) }))}
    ${campaigns(
      rows.flatMap((row) => row.campaigns),
      at,
    )}`,
  });
}

interface Shown {
  readonly runs: ReadonlyMap<string, readonly ShownRun[]>;
  readonly now: number;
  readonly command: OwnCommand;
}

function policies(rows: readonly PolicyView[], { runs, now, command }: Shown): Cell {
  return table<PolicyView>({
    caption: html`To see what a policy would do now, make a plan on its page, or run
      <code>${command('plan POLICY')}</code>. A plan changes nothing until it is applied.`,
    rows,
    empty: html`No policy is configured: the daemon only reads. Add policies under <code>policies:</code> in the
      configuration. This table then shows their modes, runs and holds.`,
    columns: {
      Policy: wide((row) => [
        policyLink(row.name),
        row.description !== undefined && html`<span class="sub block">${long(row.description)}</span>`,
        html`<span class="sub block">${row.action} · ${row.account} · ${row.source}</span>`,
      ]),
      Mode: modeOf,
      'Last runs': wide((row) => lastRuns(row, runs.get(row.name) ?? [], now)),
      'Next run': (row) => [moment(row.nextRunAt, now), sub(row.schedule), pendingTrigger(row, now)],
      Owner: wide((row) => row.owner),
    },
  });
}

export type ShownRun = Omit<RunView, 'policy' | 'account'>;

const TONE_LOOK: Readonly<Partial<Record<Tone, Look>>> = { attention: 'attention', trouble: 'trouble', ok: 'ok' };
/** A run with an effect is higher than one that was stopped, and that is higher than one with nothing to do. */
const [HIGH, MIDDLE, LOW] = [3, 2, 0];

/** Runs of a policy as a row, and the last one in words. */
export function lastRuns(policy: PolicyView, newestFirst: readonly ShownRun[], now: number): Cell {
  const last = outcomeOf(policy, now);
  if (newestFirst.length > 0) return [runStrip(newestFirst, now), last];
  return last === undefined ? html`<span class="faint">no run so far</span>` : last;
}

/** Row of the runs, the newest one last. */
function runStrip(newestFirst: readonly ShownRun[], now: number): Cell {
  const counts = new Map<string, number>();
  const items = newestFirst.toReversed().map((run) => {
    const { at, outcome, detail } = run;
    const word = outcome.replaceAll('_', ' ');
    counts.set(word, (counts.get(word) ?? 0) + 1);
    const isQuiet = outcome === 'nothing_to_do';
    return {
      look: isQuiet ? ('faint' as const) : (TONE_LOOK[RUN_TONE[outcome]] ?? 'busy'),
      height: isQuiet ? LOW : outcome === 'acted' || RUN_TONE[outcome] === 'trouble' ? HIGH : MIDDLE,
      text: `${formatAge(at, now)}: ${word}; ${runNumbersText(run)}${detail === undefined ? '' : `; ${detail}`}`.slice(
        0,
        MOST_TITLE,
      ),
    };
  });
  const words = [...counts].map(([word, count]) => `${formatCount(count)} ${word}`);
  return { piece: 'strip', items, highest: HIGH, about: `last ${counted(items.length, 'run')}: ${words.join(', ')}` };
}

const MODES: Readonly<Record<PolicyView['mode'], readonly [tone: Tone, word: string]>> = {
  off: ['off', 'off'],
  audit: ['watch', 'watches'],
  approve: ['ask', 'asks'],
  enforce: ['ok', 'acts'],
};

export function modeOf({ mode, effectiveMode, reducedBy, probationLeft = 0 }: PolicyView): Cell {
  const [tone, word] = MODES[effectiveMode];
  const configured =
    mode === effectiveMode ? '' : `, configured as ${mode}${reducedBy === undefined ? '' : `: ${reducedBy}`}`;
  return [
    state(mode === effectiveMode ? tone : 'attention', word),
    sub(`${effectiveMode === 'off' ? '' : effectiveMode}${configured}`.replace(/^, /, '')),
    probationLeft > 0 && sub(`on probation: ${counted(probationLeft, 'more audit run')}`),
  ];
}

export function pendingTrigger({ pending, held }: PolicyView, now: number): Cell {
  if (pending === undefined) return undefined;
  const { trigger, alert = '', version = '', count, since } = pending;
  const what = { alert: `alert ${alert}`, callback: 'failure callback', deploy: `deploy of ${version}` }[trigger];
  const more = count === 1 ? '' : ` and ${formatCount(count - 1)} more`;
  const until = held === undefined ? '' : `, runs when the hold by ${held.guard} ends`;
  return [state('attention', 'trigger pending'), sub(`${what}${more}, for ${formatSpan(now - since)}${until}`)];
}

export const RUN_TONE: Readonly<Record<NonNullable<PolicyView['lastRun']>['outcome'], Tone>> = {
  acted: 'ok',
  would_act: 'ok',
  nothing_to_do: 'ok',
  denied: 'attention',
  pending_approval: 'attention',
  deferred: 'ok',
  held: 'attention',
  skipped: 'attention',
  running: 'off',
  aborted: 'trouble',
  halted: 'trouble',
  incomplete: 'attention',
  failed: 'trouble',
};

function outcomeOf(row: PolicyView, now: number): Cell {
  const run = row.lastRun;
  const { held } = row;
  const since =
    held &&
    html`<span class="sub block"
      >held for ${formatSpan(now - held.since)} by ${held.guard}, since ${timePiece(held.since)}</span
    >`;
  if (run === undefined) return since;
  return [
    state(RUN_TONE[run.outcome], run.outcome.replaceAll('_', ' ')),
    ' ',
    moment(run.at, now),
    sub(runNumbersText(run)),
    sub(run.detail),
    since,
  ];
}
