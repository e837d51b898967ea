/** Page of both dead letter queues, newest failure first. */
import { formatCount } from '#foundation/domain/counted.ts';
import {
  address,
  idText,
  moment,
  section,
  sub,
  table,
  wide,
  type Cell,
  type TableOptions,
} from '#foundation/markup/cell.ts';
import type { DeadLetterQueue } from '../state/dlq.ts';
import { failureFunctionState } from '../state/failure-function-state.ts';
import type { DeadMessage } from '../state/message.ts';
import type { ShownPage, PageRequest } from './frame.ts';
import { messageLink } from './messages.ts';
import { PAGES_PATH } from './page-names.ts';

const MOST_ROWS = 100;

export function deadLettersPage(request: PageRequest): ShownPage {
  const { dlq, workflowDlq } = request.state;
  return {
    title: 'Dead letters',
    path: `${PAGES_PATH}/dead-letters`,
    main: [
      section('messages', 'Message DLQ', queue(request, dlq, {})),
      section(
        'runs',
        'Workflow DLQ',
        queue(request, workflowDlq, {
          Run: wide(({ message: { workflow } }) => workflow && idText(workflow.runId)),
          'Failure function': ({ message }) => failureFunctionState(message),
        }),
      ),
    ],
  };
}

function queue(request: PageRequest, letters: DeadLetterQueue, more: TableOptions<DeadMessage>['columns']): Cell {
  const { now } = request;
  letters.trim(now);
  const all = [...letters.deadLetters()].toReversed();
  return table<DeadMessage>({
    caption: `${formatCount(all.length)} in the queue${all.length > MOST_ROWS ? `, the newest ${MOST_ROWS} are shown` : ''}.`,
    rows: all.slice(0, MOST_ROWS),
    empty: 'Empty. A message is added when all of its attempts failed.',
    columns: {
      'Dead letter': ({ dlqId }) => idText(dlqId),
      Message: ({ message }) => messageLink(request, message.id),
      ...more,
      Destination: wide(({ message: { url, delivery } }) => [address(url), sub(delivery.labels.join(', '))]),
      Response: wide(({ message: { lastOutcome } }) => lastOutcome && [lastOutcome.status, sub(lastOutcome.error)]),
      Failed: ({ failedAt }) => moment(failedAt, now),
    },
  });
}
