import { formatCount } from '#foundation/domain/counted.ts';
import { formatAge } from '#foundation/domain/time-text.ts';
import type { IncidentList, IncidentView } from '#operate/contract/incidents.ts';
import { textOption, UsageError, valueOption, type Command } from '../command.ts';
import { acknowledgmentText, snoozeEnd, stateWord } from '#foundation/domain/incident.ts';
import { sheetText } from '#operate/show/text.ts';
import { daemonCommand } from '../daemon-command.ts';
import { request } from '../daemon-request.ts';
import { runList } from '../list.ts';
import { ACCOUNT_OPTION, LIST_OPTIONS } from '../list-options.ts';
import { printable, textStyle } from '../output.ts';
import { WATCH_OPTION } from '../watch.ts';
import { isQueueUnread, queueNote } from './queue-note.ts';

const UNRESOLVED = ['open', 'recovering', 'acknowledged'];

const STATES = 'Only this state: open, acknowledged (also snoozed), recovering, or resolved; may be repeated.';

function command(name: string, examples: Command['examples']): Command {
  return {
    name,
    summary: 'List the incidents: what fails, since when, and what expires first.',
    options: {
      account: { ...ACCOUNT_OPTION, help: 'Only this account.' },
      state: valueOption('STATE', STATES, { multiple: true }),
      all: { type: 'boolean', help: 'Also resolved incidents.' },
      ...LIST_OPTIONS,
    },
    details:
      'An incident has the failures of one workflow or destination with one reason. Open ones come first. ' +
      'opsd incidents show ID has the next step. NOW is the number of dead letters that are left; EVER counts all. ' +
      'The sign ≥ marks numbers of known dead letters: no operation lists the message DLQ, so more are possible.',
    examples,
    run: (call) =>
      runList<IncidentView, IncidentList>(call, {
        path: '/api/v1/incidents',
        query: {
          account: textOption(call.values, 'account'),
          state:
            (call.values['state'] as readonly string[] | undefined) ?? (call.values['all'] === true ? [] : UNRESOLVED),
        },
        key: 'incidents',
        collectors: ['workflowDlq'],
        columns: [
          { title: 'ID', text: ({ id }) => id, isWhole: true },
          { title: 'STATE', text: stateWord, isWhole: true },
          { title: 'NOW', text: ({ members }) => boundedCount(members, 'now'), align: 'right', isWhole: true },
          { title: 'EVER', text: ({ members }) => boundedCount(members, 'ever'), align: 'right', isWide: true },
          {
            title: 'SINCE',
            text: ({ firstAt, isSinceKnown }, at) => `${isSinceKnown ? '' : '≥'}${formatAge(firstAt, at)}`,
            isWhole: true,
          },
          { title: 'LAST', text: ({ lastAt }, at) => formatAge(lastAt, at), isWhole: true },
          { title: 'EXPIRES', text: ({ firstExpiresAt }, at) => expiresText(firstExpiresAt, at), isWhole: true },
          { title: 'PLACE', text: ({ place }) => place },
          { title: 'REASON', text: ({ reason }) => reason },
          { title: 'CAUSE', text: ({ cause }) => cause, isWide: true },
          { title: 'ACCOUNT', text: ({ account }) => account, isWide: true },
          { title: 'ACKNOWLEDGED', text: (row) => acknowledgmentText(row) ?? '–', isWide: true },
        ],
        id: ({ id }) => id,
        empty: 'No incidents. Dead letters, and destinations that fail nearly every delivery, open one.',
        note: queueNote,
        isUnknown: isQueueUnread,
      }),
  };
}

export const incidentsCommand = command('incidents', ['opsd incidents', 'opsd incidents --all -o wide']);

export const incidentsListCommand = command('incidents list', [
  'opsd incidents list --watch',
  "opsd incidents list --state open -o json | jq '.incidents[].title'",
]);

function boundedCount(members: IncidentView['members'], which: 'now' | 'ever'): string {
  return `${members.isLowerBound ? '≥' : ''}${formatCount(members[which])}`;
}

/** `in 2 d 3 h`, `now` for the past; `–` if the retention is not configured. */
export function expiresText(expiresAt: number | undefined, at: number): string {
  if (expiresAt === undefined) return '–';
  return expiresAt <= at ? 'now' : formatAge(expiresAt, at);
}

export const incidentsShowCommand = daemonCommand({
  name: 'incidents show',
  summary: 'Show one incident: its failures, what expires first, the next step.',
  operands: { usage: 'ID', min: 1, max: 1, names: 'incident' },
  options: { watch: WATCH_OPTION },
  needs: { writes: false, collectors: ['workflowDlq'] },
  details:
    'ID can be a prefix of at least four characters. With --watch the repair can be followed. ' +
    'opsd dlq list --incident ID lists its dead letters.',
  examples: ['opsd incidents show 3f2a91bc0d', 'opsd incidents show 3f2a --watch'],
  async answer(call, findDaemon) {
    const daemon = await findDaemon();
    const { incidentSheet } = await import('#operate/show/incident.ts');
    const data = await request(daemon, 'GET /api/v1/incidents/{id}', { id: call.positionals[0]! });
    const { incident, at } = data;
    const content = () => incidentSheet(incident, at, daemon.command);
    return { data, text: () => sheetText(incident.title, content(), textStyle(call.io)) };
  },
});

export const acknowledgeCommand = daemonCommand({
  name: 'incidents acknowledge',
  summary: 'Acknowledge an incident: others see who knows of it, and the note.',
  operands: { usage: 'ID', min: 1, max: 1, names: 'incident' },
  options: {
    note: valueOption('TEXT', 'Note for others, recorded in the audit log; required.'),
  },
  details:
    'Changes nothing at the service. The incident is resolved when no dead letter is left, or when nothing new has ' +
    'failed for a day. A later acknowledgment replaces the earlier one.',
  examples: [
    "opsd incidents acknowledge 3f2a91bc0d --note 'vendor called, ticket 4711'",
    "opsd incidents acknowledge 3f2a --note 'known, repaired tomorrow' -o json",
  ],
  async answer(call, findDaemon) {
    const note = textOption(call.values, 'note')?.trim() ?? '';
    if (note === '') throw new UsageError('--note is required: what should others know?');
    const body = { incident: call.positionals[0]!, note };
    const data = await request(await findDaemon(), 'POST /api/v1/acknowledge', { body }, 'incident');
    const { id, title } = data.incident;
    return { data, text: `Acknowledged incident ${printable(id)}: ${printable(title)}\n` };
  },
});

export const snoozeCommand = daemonCommand({
  name: 'incidents snooze',
  summary: 'Snooze an incident: no notification until a time or a deploy.',
  operands: { usage: 'ID', min: 1, max: 1, names: 'incident' },
  options: {
    until: valueOption('TIME', 'Until this time: 2h from now, or 2026-11-21T10:00:00Z.'),
    'until-deploy': { type: 'boolean', help: 'Until a deploy of what failed is reported, also a roll-back.' },
    note: valueOption('TEXT', 'Note for others, recorded in the audit log.'),
  },
  details:
    'Changes nothing at the service, and stops no policy. After it, the incident is open again and notified of if dead ' +
    'letters are left. If none is left before, it is resolved without a notification. An acknowledgment ends it.',
  examples: [
    "opsd incidents snooze 3f2a91bc0d --until 2h --note 'ticket 4711'",
    "opsd incidents snooze 3f2a --until-deploy --note 'fixed by v42'",
  ],
  async answer(call, findDaemon) {
    const until = textOption(call.values, 'until');
    const isUntilDeploy = call.values['until-deploy'] === true;
    if ((until !== undefined) === isUntilDeploy)
      throw new UsageError('until when? Give --until TIME or --until-deploy');
    const body = { incident: call.positionals[0]!, until: until ?? 'deploy', note: textOption(call.values, 'note') };
    const data = await request(await findDaemon(), 'POST /api/v1/snooze', { body }, 'incident');
    const { id, title } = data.incident;
    return {
      data,
      text: `Snoozed incident ${printable(id)} ${printable(snoozeEnd(data.incident)!)}: ${printable(title)}\n`,
    };
  },
});
