/** Page of the flow-control keys. */
import { formatSpan } from '#foundation/domain/time-text.ts';
import { link, numberColumn, state, table, wide, type Piece } from '#foundation/markup/cell.ts';
import type { FlowFigures } from '../state/flow-lane.ts';
import { pathTo, type ShownPage, type PageRequest } from './frame.ts';
import { PAGES_PATH } from './page-names.ts';

export function flowControlPage(request: PageRequest): ShownPage {
  const keys = request.state.flow.all().map(([key, lane]) => ({ key, ...lane.figures() }));
  return {
    title: 'Flow control',
    path: `${PAGES_PATH}/flow-control`,
    main: table<(typeof keys)[number]>({
      caption: 'Keys with the most waiting messages first.',
      rows: keys.toSorted((one, other) => other.waitListSize - one.waitListSize),
      empty: 'No key is in use. A message creates its key.',
      columns: {
        Key: wide(({ key }) => link(pathTo(request, '/', { q: key }), key)),
        State: stateOf,
        Waiting: numberColumn(({ waitListSize }) => waitListSize),
        Parallelism: ({ parallelismCount, parallelismMax }) =>
          parallelismMax !== undefined && `${parallelismCount} of ${parallelismMax}`,
        Rate: ({ rateCount, rateMax, ratePeriod }) =>
          ratePeriod !== undefined && `${rateCount} of ${rateMax} in ${formatSpan(ratePeriod * 1_000)}`,
        Pinned: ({ isPinnedParallelism, isPinnedRate }) =>
          [isPinnedParallelism && 'parallelism', isPinnedRate && 'rate'].filter(Boolean).join(', ') || undefined,
      },
    }),
  };
}

function stateOf({ isPaused, waitListSize }: FlowFigures): Piece {
  if (isPaused) return state('attention', 'paused');
  return waitListSize > 0 ? state('busy', 'waits') : state('ok', 'nothing waits');
}
