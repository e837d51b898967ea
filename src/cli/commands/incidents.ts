import { formatCount } from '#foundation/domain/counted.ts';
import { formatDuration } from '#foundation/domain/duration.ts';
import type { IncidentList, IncidentView } from '#operate/contract/incidents.ts';
import { textOption, valueOption, type Command, type OptionSpec } from '../command.ts';
import { ageText } from '#operate/show/text-times.ts';
import { runList } from '../list.ts';
import { ACCOUNT_OPTION, LIST_OPTIONS } from '../list-options.ts';
import { isQueueUnread, queueNote } from './queue-note.ts';

const UNRESOLVED = ['open', 'recovering', 'acknowledged'];

const STATE_OPTION: OptionSpec = valueOption(
  'STATE',
  'Only this state: open, acknowledged, recovering, or resolved; may be repeated.',
  { multiple: true },
);

function command(name: string, examples: Command['examples']): Command {
  return {
    name,
    summary: 'List the incidents: what fails, since when, how much, and when the first dead letter expires.',
    options: {
      account: { ...ACCOUNT_OPTION, help: 'Only this account.' },
      state: STATE_OPTION,
      all: { type: 'boolean', help: 'Also resolved incidents.' },
      ...LIST_OPTIONS,
    },
    details:
      'An incident has the failures of one workflow or destination with one reason. Open ones come first.\n' +
      'opsd incidents show ID has the next step. NOW is the number of dead letters that are left; EVER counts all.\n' +
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
          { title: 'STATE', text: ({ state }) => state, isWhole: true },
          { title: 'NOW', text: ({ members }) => boundedCount(members, 'now'), align: 'right', isWhole: true },
          { title: 'EVER', text: ({ members }) => boundedCount(members, 'ever'), align: 'right', isWide: true },
          {
            title: 'SINCE',
            text: ({ firstAt, isSinceKnown }, at) => `${isSinceKnown ? '' : '≥'}${ageText(firstAt, at)}`,
            isWhole: true,
          },
          { title: 'LAST', text: ({ lastAt }, at) => ageText(lastAt, at), isWhole: true },
          { title: 'EXPIRES', text: ({ firstExpiresAt }, at) => expiryText(firstExpiresAt, at), isWhole: true },
          { title: 'PLACE', text: ({ place }) => place },
          { title: 'REASON', text: ({ reason }) => reason },
          { title: 'CAUSE', text: ({ cause }) => cause, isWide: true },
          { title: 'ACCOUNT', text: ({ account }) => account, isWide: true },
          { title: 'ACKNOWLEDGED', text: ({ acknowledged }) => acknowledged?.by ?? '–', isWide: true },
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

/** `in 2d 3h`, `now` for the past; `–` if the retention is not configured. */
export function expiryText(expiresAt: number | undefined, at: number): string {
  if (expiresAt === undefined) return '–';
  return expiresAt <= at ? 'now' : `in ${formatDuration(expiresAt - at)}`;
}
