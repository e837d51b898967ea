/** Page of the canaries: verdicts with their next steps, the last messages with their phases, and what verdicts mean. */
import {
  CANARY_PHASES,
  CANARY_VERDICTS,
  type CanaryPhase,
  type CanaryRound,
  type CanaryVerdict,
  type CanaryVia,
} from '#foundation/domain/canary.ts';
import { formatAge, formatElapsed } from '#foundation/domain/time-text.ts';
import { isFailingCanary, readCanaries, VERDICT_HELP } from '../api/canaries.ts';
import { counted, formatCount, formatSpan } from '../api/format.ts';
import type { Reply } from '../http/reply.ts';
import { accountField, filteredAccount, filterForm } from './frame/filters.ts';
import { showPage, type PageContext } from './frame/page.ts';
import { canaryAnchor, messagePath } from '../contract/page-paths.ts';
import {
  type Cell,
  duration,
  idLink,
  type Look,
  minor,
  moment,
  numberColumn,
  section,
  state,
  sub,
  table,
  timePiece,
  type Tone,
  whole,
  wide,
} from '#foundation/markup/cell.ts';
import { clipped, html } from '#foundation/markup/html.ts';
import { constantMarkup } from '#foundation/markup/markup.ts';
import type { CanaryView } from '../contract/readings.ts';

/** Number of messages of a canary. The API has more. */
const SHOWN = 10;

export function canariesPage(context: PageContext): Reply {
  const { deps, query } = context;
  const { canaries, at } = readCanaries(deps, filteredAccount(context));
  return showPage(context, {
    title: 'Canaries',
    section: '/canaries',
    main: html`${filterForm('/canaries', query, accountField(deps.accounts))}
    ${section('canaries', 'Canaries', overview(canaries, at))} ${canaries.map((canary) => rounds(canary, at))}
    ${
      canaries.length === 0
        ? section('verdicts', 'What the verdicts mean', verdicts())
        : html`<details class="more" id="verdicts">
            <summary>What the verdicts mean</summary>
            ${verdicts()}
          </details>`
    }`,
  });
}

function overview(rows: readonly CanaryView[], at: number): Cell {
  return table<CanaryView>({
    caption: 'Messages that the daemon sends to itself through the service. Failing canaries first.',
    rows,
    rowId: canaryAnchor,
    empty: html`No canary is configured. A canary sends small messages through the service to the daemon itself, and
      finds out who must act on a failure. Add <code>canaries</code> to an account.`,
    columns: {
      Canary: wide((row) => [clipped(row.canary), sub(row.account), sub(viaText(row.via))]),
      Verdict: (row) => [verdict(row.verdict), sub(`since ${formatSpan(at - row.since)}`)],
      Reason: wide((row) => [row.reason, row.next !== undefined && sub(row.next)]),
      'Time to arrival': (row) => arrivals(row, at),
      'Last success': (row) => moment(row.lastSuccessAt, at),
      Messages: (row) => [whole(`every ${formatSpan(row.every)}`), sub(`${formatCount(row.inFlight)} in flight`)],
    },
  });
}

/** Row of the last messages, the newest one last: as high as the time to the arrival; full if none is known. */
function arrivals({ rounds: newestFirst }: CanaryView, at: number): Cell {
  const ended = newestFirst.filter(({ result: one }) => one !== undefined).toReversed();
  if (ended.length === 0) return undefined;
  const times = ended.map(({ phases, startedAt }) => phases.arrived && Math.max(0, phases.arrived - startedAt));
  const highest = Math.max(1, ...times.map((ms) => ms ?? 0));
  const items = ended.map(({ startedAt, result: one }, index) => {
    const ms = times[index];
    const tone = TONE[one!.verdict];
    const took = ms === undefined ? 'no arrival known' : `arrived after ${formatElapsed(ms)}`;
    const look: Look = tone === 'ok' || tone === 'attention' || tone === 'trouble' ? tone : 'faint';
    return { look, height: ms ?? highest, text: `${formatAge(startedAt, at)}: ${one!.verdict}, ${took}` };
  });
  const failed = ended.filter(({ result: one }) => one!.verdict !== 'ok').length;
  const about = `last ${counted(ended.length, 'message')}: ${counted(failed, 'failure')}, arrival after at most ${formatElapsed(highest)}`;
  return [{ piece: 'strip', items, highest, about }, sub(`at most ${formatElapsed(highest)}`)];
}

const TONE: Readonly<Record<CanaryVerdict, Tone>> = {
  ok: 'ok',
  service: 'trouble',
  account: 'trouble',
  throttled: 'attention',
  network: 'trouble',
  receiver: 'trouble',
  service_reporting: 'attention',
  unknown: 'off',
};

function verdict(of: CanaryVerdict): Cell {
  return state(TONE[of], of);
}

function viaText(via: CanaryVia | undefined): string {
  if (via === undefined) return 'directly';
  if ('flowControlKey' in via) return `flow-control key ${via.flowControlKey}`;
  if ('urlGroup' in via) return `URL Group ${via.urlGroup}`;
  return 'queue' in via ? `queue ${via.queue}` : 'workflow run';
}

function rounds(canary: CanaryView, at: number): Cell {
  const shown = canary.rounds.slice(0, SHOWN);
  const title = `Last messages of ${clipped(canary.canary)} (${canary.account})`;
  const list = table<CanaryRound>({
    caption: 'Newest first. Times of phases are from the publish request; the log is read at intervals.',
    rows: shown,
    empty: 'No message yet. The first one is sent soon after the start.',
    columns: {
      Sent: (row) => [whole(timePiece(row.startedAt)), row.warmUp && sub('warm-up: does not count')],
      Verdict: (row) => result(row, at),
      Reason: wide((row) => row.result?.reason),
      ...Object.fromEntries(
        CANARY_PHASES.map((phase) => [phase, numberColumn((row: CanaryRound) => afterPublish(row, phase))]),
      ),
      Size: minor(numberColumn((row) => whole(`${formatCount(row.bytes)} B`))),
      Message: wide(({ messageId }) => messageId && idLink(messagePath(messageId, canary.account), messageId)),
    },
  });
  // A page of many canaries is opened for the failing ones.
  return html`<details class="more" ${isFailingCanary(canary) ? OPEN : undefined}>
    <summary>${title}</summary>
    ${list}
  </details>`;
}

const OPEN = constantMarkup('open');

function result({ result: ended, startedAt }: CanaryRound, at: number): Cell {
  if (ended === undefined) return [state('off', 'in flight'), sub(`for ${formatSpan(at - startedAt)}`)];
  return verdict(ended.verdict);
}

function afterPublish({ phases, startedAt, duplicates }: CanaryRound, phase: CanaryPhase): Cell {
  const reached = phases[phase];
  if (reached === undefined) return undefined;
  const again = phase === 'arrived' && duplicates > 0;
  return [duration(Math.max(0, reached - startedAt)), again && sub(`and ${counted(duplicates, 'time')} again`)];
}

function verdicts(): Cell {
  return table<CanaryVerdict>({
    caption: 'Each message ends with one verdict.',
    rows: CANARY_VERDICTS,
    empty: '',
    columns: {
      Verdict: verdict,
      Meaning: wide((of) => VERDICT_HELP[of].meaning),
      'Next step': wide((of) => VERDICT_HELP[of].next),
    },
  });
}
