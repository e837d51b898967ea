/** Part of the page about destinations that are down: the size of the fault, and the daemon's reaction. Pure. */
import { formatAge, formatCount } from '../api/format.ts';
import { outageAnchor, outageSince, outageTitle, reactionText, type OutageView } from '../situation/outages.ts';
import { type Cell, figures, time } from '../show/cell.ts';
import { clipped, html } from '../show/html.ts';

/** @returns the fault in one line: the destination, its response, and the start */
export function outageHeadline(outage: OutageView, now: number): Cell {
  return html`${clipped(outageTitle(outage))} ${outageSince(outage, now)}`;
}

export function outageFigures(outage: OutageView, now: number): Cell {
  const { failed, delivered, lost, reasons, failedRuns, oldestFailedAt, firstExpiresAt } = outage;
  const why = reasons.map(({ reason, count }) => `${formatCount(count)} ${reason}`).join(', ');
  const moment = (name: string, at: number) => ({ name, value: formatAge(at, now), note: time(at) });
  const expiry =
    firstExpiresAt === undefined
      ? { name: 'First expires', value: 'unknown', note: 'limits.dlqRetention is not set' }
      : moment('First expires', firstExpiresAt);
  const rows = [
    {
      name: 'Failed runs',
      value: failedRuns === undefined ? 'unknown' : formatCount(failedRuns),
      note: 'in the workflow DLQ',
    },
    { name: 'Failed messages', value: formatCount(lost), note: 'permanently, including those of runs' },
    {
      name: 'Failed attempts',
      value: formatCount(failed),
      note: `of ${formatCount(failed + delivered)}: ${clipped(why)}`,
    },
    oldestFailedAt !== undefined && moment('Oldest failed run', oldestFailedAt),
    oldestFailedAt !== undefined && expiry,
  ];
  return html`${figures(rows, outageAnchor(outage))}
    <p class="reaction"><strong>Reaction of the daemon:</strong> ${clipped(reactionText(outage))}.</p>`;
}
