import { formatCount } from '#foundation/domain/counted.ts';
import { formatAge } from '#foundation/domain/time-text.ts';
import { textOption, valueOption, type Command, type OptionValues } from '../command.ts';
import type { DeadLetterList, DeadLetterView } from '#operate/contract/dead-letters.ts';
import type { Query } from '../daemon-exchange.ts';
import { runList } from '../list.ts';
import {
  ACCOUNT_OPTION,
  filterOption,
  filtersOf,
  LIST_OPTIONS,
  queueOption,
  SINCE_OPTION,
  timeOption,
  UNTIL_OPTION,
} from '../list-options.ts';
import { expiresText } from './incidents.ts';
import { isQueueUnread, queueNote } from './queue-note.ts';

export const dlqListCommand: Command = {
  name: 'dlq list',
  summary: 'List the dead letters of both queues, newest first.',
  options: {
    queue: valueOption('QUEUE', 'Only this queue: workflow or message.'),
    incident: valueOption('ID', 'Only members of this incident.'),
    label: filterOption('Only with this label.'),
    'workflow-url': filterOption('Only runs of this workflow: a URL, its beginning, or a host.', 'URL'),
    'workflow-run-id': filterOption('Only this run.'),
    'flow-control-key': filterOption('Only with this flow-control key.'),
    'failure-function-state': filterOption('Only with this state of the failure function.'),
    'caller-ip': filterOption('Only from this address.'),
    'message-id': filterOption('Only this message.'),
    destination: filterOption('Only with this destination: a URL, its beginning, or a host.', 'URL'),
    'topic-name': filterOption('Only messages of this URL Group.'),
    'schedule-id': filterOption('Only messages of this schedule.'),
    'response-status': filterOption('Only with this status of the last attempt: 503, or 5xx.'),
    cause: filterOption('Only transient, permanent, quota, or unknown.'),
    account: { ...ACCOUNT_OPTION, help: 'Only this account.' },
    since: SINCE_OPTION,
    until: UNTIL_OPTION,
    ...LIST_OPTIONS,
  },
  details:
    'The daemon answers from its last reading of the workflow DLQ, and from the failure callbacks for the message DLQ, ' +
    'which cannot be listed. No request is sent to the service.',
  examples: ['opsd dlq list --since 2h --label billing', 'opsd dlq list --incident 3f2a91bc0d -o name'],
  run: (call) =>
    runList<DeadLetterView, DeadLetterList>(call, {
      path: '/api/v1/dead-letters',
      query: queryOf(call.values, call.io.clock.now()),
      key: 'deadLetters',
      collectors: ['workflowDlq'],
      columns: [
        { title: 'ID', text: ({ id }) => id, isWhole: true },
        { title: 'FAILED', text: ({ failedAt }, at) => formatAge(failedAt, at), isWhole: true },
        { title: 'EXPIRES', text: ({ expiresAt }, at) => expiresText(expiresAt, at), isWhole: true },
        { title: 'DESTINATION', text: ({ workflowUrl, url, topicName }) => workflowUrl ?? url ?? topicName ?? '–' },
        { title: 'REASON', text: ({ reason }) => reason },
        { title: 'LABELS', text: ({ labels }) => labels.join(', ') },
        { title: 'INCIDENT', text: ({ incident = '–' }) => incident, isWide: true },
        { title: 'QUEUE', text: ({ queue }) => queue, isWide: true },
        { title: 'CAUSE', text: ({ cause }) => cause, isWide: true },
        {
          title: 'RUN OR MESSAGE',
          text: ({ workflowRunId, messageId }) => workflowRunId ?? messageId ?? '–',
          isWide: true,
        },
        { title: 'ACCOUNT', text: ({ account }) => account, isWide: true },
      ],
      id: ({ id }) => id,
      empty: 'No dead letters. Runs and messages that failed finally appear here.',
      note: (data) => [totalNote(data), queueNote(data)].filter((text) => text !== undefined).join('\n') || undefined,
      isUnknown: isQueueUnread,
    }),
};

function queryOf(values: OptionValues, now: number): Query {
  return {
    ...filtersOf(values),
    queue: queueOption(values),
    incident: textOption(values, 'incident'),
    account: textOption(values, 'account'),
    fromDate: timeOption(values, 'since', now),
    toDate: timeOption(values, 'until', now),
  };
}

function totalNote({ total, deadLetters }: DeadLetterList): string | undefined {
  return total > deadLetters.length ? `${formatCount(total)} dead letters match.` : undefined;
}
