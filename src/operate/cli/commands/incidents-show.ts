import { formatCount } from '#foundation/domain/counted.ts';
import { formatDuration } from '#foundation/domain/duration.ts';
import type { OwnCommand } from '#foundation/domain/own-command.ts';
import { coverText } from '#foundation/domain/plan.ts';
import { EXIT, type Command } from '../command.ts';
import { exchange } from '../daemon-exchange.ts';
import { DAEMON_OPTIONS, findDaemon } from '../daemon-option.ts';
import { dataText, OUTPUT_OPTION, outputFormat, painter, printable, usesColor, type Style } from '../output.ts';
import { showOrWatch, WATCH_OPTION } from '../watch.ts';
import type { IncidentView as IncidentRow } from '../../contract/incidents.ts';
import { expiryText } from './incidents.ts';
import { ago } from './state-lines.ts';

interface Count {
  readonly name: string;
  readonly count: number;
}

/** Incident of `/api/v1/incidents/{id}`. */
interface IncidentDocument extends Omit<IncidentRow, 'rate' | 'resolvedAt'> {
  readonly resolvedAt?: number;
  readonly rate?: { readonly from: number; readonly stepMs: number; readonly counts: readonly number[] };
  readonly destination?: { readonly host: string; readonly delivered: number; readonly attempts: number };
  readonly labels: readonly Count[];
  readonly flowControlKeys: readonly Count[];
  readonly sample?: { readonly id: string; readonly responseText?: string };
  readonly policies: readonly { readonly name: string; readonly effectiveMode: string; readonly selects: number }[];
  readonly plans: readonly {
    readonly id: string;
    readonly state: string;
    readonly members: number;
    readonly covers: number;
    readonly left?: number;
  }[];
  readonly campaigns: readonly {
    readonly policy: string;
    readonly state: string;
    readonly step: number;
    readonly verified: number;
    readonly judged: number;
    readonly reason?: string;
  }[];
  readonly marks: readonly { readonly at: number; readonly kind: string; readonly detail: string }[];
  readonly next: { readonly text: string; readonly command?: string };
}

export const incidentsShowCommand: Command = {
  name: 'incidents show',
  summary: 'Show one incident: what fails, since when, how much, what expires first, and the next step.',
  operands: { usage: 'ID', min: 1, max: 1, names: 'incident' },
  options: { watch: WATCH_OPTION, ...DAEMON_OPTIONS, output: OUTPUT_OPTION },
  details:
    'ID can be a prefix of at least four characters. With --watch the repair can be followed.\n' +
    'opsd dlq list --incident ID lists its dead letters.',
  examples: ['opsd incidents show 3f2a91bc0d', 'opsd incidents show 3f2a --watch'],
  async run(call) {
    const format = outputFormat(call.values);
    const daemon = await findDaemon(call, { writes: false, collectors: ['workflowDlq'] });
    if (daemon === undefined) return EXIT.failed;
    const path = `/api/v1/incidents/${encodeURIComponent(call.positionals[0]!)}`;
    return showOrWatch(call, async () => {
      const data = await exchange(daemon, { method: 'GET', path });
      if (format !== 'table') return { text: await dataText(format, data) };
      const paint = painter(usesColor(call.io.stdout, call.io.env));
      const { incident, at } = data as unknown as { incident: IncidentDocument; at: number };
      return { text: incidentText(incident, at, { paint, command: daemon.command }) };
    });
  },
};

interface Show {
  readonly paint: (style: Style, text: string) => string;
  readonly command: OwnCommand;
}

const STATE_STYLES: Readonly<Record<string, Style>> = {
  open: 'red',
  recovering: 'cyan',
  acknowledged: 'yellow',
  resolved: 'green',
};

function incidentText(incident: IncidentDocument, at: number, { paint, command }: Show): string {
  const { id, state, account, title, next } = incident;
  const rows = rowsOf(incident, at);
  const width = Math.max(...rows.map(([name]) => name.length));
  const lines = [
    paint('bold', printable(title)),
    `${paint(STATE_STYLES[state] ?? 'bold', printable(state))}, incident ${printable(id)} of account ${printable(account)}`,
    '',
    ...rows.map(([name, text]) => `  ${paint('dim', name.padEnd(width))}  ${printable(text)}`),
    '',
    `Next: ${printable(next.text)}`,
    ...(next.command === undefined ? [] : [`  ${ownCommands(printable(next.command), command)}`]),
  ];
  return lines.map((line) => `${line}\n`).join('');
}

function rowsOf(incident: IncidentDocument, at: number): [name: string, text: string][] {
  const { reason, cause, firstAt, isSinceKnown, lastAt, members, deliveries, firstExpiresAt, rate, destination } =
    incident;
  const rows: [string, string | undefined][] = [
    ['reason', `${reason} (${cause})`],
    [
      'since',
      `${timeText(firstAt)} (${ago(firstAt, at)})${isSinceKnown ? '' : ' or earlier'}; last failure ${ago(lastAt, at)}`,
    ],
    ['members', membersText(members)],
    ['expiry', expiryRow(firstExpiresAt, members, at)],
    [
      'deliveries',
      deliveries &&
        `${formatCount(deliveries.failed)} attempts failed, ${formatCount(deliveries.lost)} messages lost${deliveries.isFailing ? '' : '; delivers again'}`,
    ],
    ['rate', rate && `${sparkline(rate.counts)}  ${formatDuration(rate.stepMs)} each, from ${timeText(rate.from)}`],
    [
      'destination',
      destination &&
        `${destination.host}: ${formatCount(destination.delivered)} of ${formatCount(destination.attempts)} attempts delivered in the last 15 minutes`,
    ],
    ['labels', countsText(incident.labels)],
    ['keys', countsText(incident.flowControlKeys)],
    ...incident.policies.map(({ name, effectiveMode, selects }): [string, string] => [
      'policy',
      `${name} [${effectiveMode}] selects ${formatCount(selects)}`,
    ]),
    ...incident.plans.map((plan): [string, string] => [
      'plan',
      `${plan.id} is ${plan.state}${plan.left === undefined ? '' : ` (${coverText(plan)})`}, with ${formatCount(plan.members)} of these`,
    ]),
    ...incident.campaigns.map(({ policy, state, step, verified, judged, reason: why }): [string, string] => [
      'campaign',
      `${policy}, step ${step}, ${state}: ${verified} of ${judged} verified${why === undefined ? '' : `; ${why}`}`,
    ]),
    ...incident.marks.map((mark): [string, string] => [
      'change',
      `${mark.kind} ${mark.detail.slice(0, HASH_LENGTH)}, ${timeText(mark.at)}`,
    ]),
    ['noted', notedText(incident, at)],
    ['sample', incident.sample && [incident.sample.id, incident.sample.responseText].filter(Boolean).join(': ')],
  ];
  return rows.filter((row): row is [string, string] => row[1] !== undefined);
}

function membersText({ now, ever, expired, isLowerBound }: IncidentRow['members']): string {
  const gone = expired === 0 ? '' : `, ${formatCount(expired)} expired`;
  const known = isLowerBound ? ' known' : '';
  const more = isLowerBound ? '; more are possible, because no operation lists the message DLQ' : '';
  return `${isLowerBound ? 'at least ' : ''}${formatCount(now)}${known} now, ${formatCount(ever)}${known} ever${gone}${more}`;
}

function expiryRow(
  expiresAt: number | undefined,
  { now, isLowerBound }: IncidentRow['members'],
  at: number,
): string | undefined {
  if (now === 0) return isLowerBound ? 'unknown: no dead letter is known' : undefined;
  if (expiresAt === undefined) return 'unknown: limits.dlqRetention is not configured';
  return `the first${isLowerBound ? ' known' : ''} dead letter expires ${expiryText(expiresAt, at)} (${timeText(expiresAt)})`;
}

function notedText({ acknowledged }: IncidentDocument, at: number): string | undefined {
  return acknowledged && `by ${acknowledged.by}, ${ago(acknowledged.at, at)}: ${acknowledged.note}`;
}

function countsText(counts: readonly Count[]): string | undefined {
  if (counts.length === 0) return undefined;
  return counts.map(({ name, count }) => `${name} (${formatCount(count)})`).join(', ');
}

/** Shown part of a configuration's hash. */
const HASH_LENGTH = 12;
const BARS = '▁▂▃▄▅▆▇█';

/** One bar for each step; a step without a failure is a space. */
function sparkline(counts: readonly number[]): string {
  const most = Math.max(1, ...counts);
  return counts.map((count) => (count === 0 ? ' ' : BARS[Math.ceil((count / most) * BARS.length) - 1]!)).join('');
}

/** Formats each command of a line for the daemon of this call, also inside of `$(…)`. */
function ownCommands(line: string, command: OwnCommand): string {
  return line.replaceAll(/\bopsd ([^$()]*[^$()\s])/g, (_all, words: string) => command(words));
}

function timeText(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')}Z`;
}
