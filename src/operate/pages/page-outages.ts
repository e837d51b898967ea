/** Part of the page about destinations that are down: the size of the fault, and the daemon's reaction. Pure. */
import { formatAge, formatCount } from '../api/format.ts';
import { outageAnchor, outageSince, outageTitle, reactionText, type OutageView } from '../situation/outages.ts';
import { type Cell, time } from '../show/cell.ts';
import { clipped, html } from '../show/html.ts';

/** @returns the fault in one line: the destination, its response, and the start */
export function outageHeadline(outage: OutageView, now: number): Cell {
  return html`${clipped(outageTitle(outage))} ${outageSince(outage, now)}`;
}

export function outageFigures(outage: OutageView, now: number): Cell {
  const { failed, delivered, lost, reasons, failedRuns, oldestFailedAt, firstExpiresAt } = outage;
  const why = reasons.map(({ reason, count }) => `${formatCount(count)} ${reason}`).join(', ');
  return html`<dl class="figures" id="${outageAnchor(outage)}">
      ${figure('Failed runs', failedRuns === undefined ? 'unknown' : formatCount(failedRuns), 'in the workflow DLQ')}
      ${figure('Failed messages', formatCount(lost), 'permanently, including those of runs')}
      ${figure('Failed attempts', formatCount(failed), `of ${formatCount(failed + delivered)}: ${clipped(why)}`)}
      ${oldestFailedAt !== undefined && figure('Oldest failed run', formatAge(oldestFailedAt, now), time(oldestFailedAt))}
      ${
        oldestFailedAt !== undefined &&
        (firstExpiresAt === undefined
          ? figure('First expires', 'unknown', 'limits.dlqRetention is not set')
          : figure('First expires', formatAge(firstExpiresAt, now), time(firstExpiresAt)))
      }
    </dl>
    <p class="reaction"><strong>Reaction of the daemon:</strong> ${clipped(reactionText(outage))}.</p>`;
}

function figure(title: string, value: string, note: Cell): Cell {
  return html`<div>
    <dt>${title}</dt>
    <dd>${value} <span class="sub">${note}</span></dd>
  </div>`;
}
