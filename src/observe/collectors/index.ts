/** Table of collectors. To add a collector, add its row type to the domain's `Observations` and its line here. */
import type { CollectorName } from '#foundation/domain/observation.ts';
import { collectorOf, type Collector } from './collector.ts';
import { flowControl } from './flow-control.ts';
import { logs } from './logs.ts';
import { readEach } from './read-all.ts';
import { accountStats, vectorStats } from './statistics.ts';
import { workflowDlq } from './workflow-dlq.ts';

export type { Collector, CollectorTarget } from './collector.ts';
export { timing } from './settings.ts';

/** One request returns all of them. */
const urlGroups = collectorOf({
  name: 'urlGroups',
  api: 'message',
  async collect(api, { signal }) {
    const { value, dropped } = await api.listUrlGroups({ signal });
    return { rows: value, dropped };
  },
});

/** The parser removes tokens. */
const searchIndexes = collectorOf({
  name: 'searchIndexes',
  api: 'management',
  lacks: ({ searchIndexes: names }) => (names.length === 0 ? 'no search indexes configured' : undefined),
  collect: (api, { target, signal }) =>
    readEach(signal, target.searchIndexes, (index, joined) => api.getIndex(index, { signal: joined })),
});

export const collectors: { readonly [N in CollectorName]: Collector<N> } = {
  logs,
  accountStats,
  flowControl,
  workflowDlq,
  urlGroups,
  searchIndexes,
  vectorStats,
};
