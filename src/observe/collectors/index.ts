/** Table of collectors. To add a collector, add its row type to the domain's `Observations` and its line here. */
import type { CollectorName } from '#foundation/domain/observation.ts';
import type { Collector } from './collector.ts';
import { flowControl } from './flow-control.ts';
import { logs } from './logs.ts';
import { searchIndexes, urlGroups } from './resources.ts';
import { accountStats, vectorStats } from './statistics.ts';
import { workflowDlq } from './workflow-dlq.ts';

export type { Collector, CollectorTarget } from './collector.ts';
export { timing } from './settings.ts';

export const collectors: { readonly [N in CollectorName]: Collector<N> } = {
  logs,
  accountStats,
  flowControl,
  workflowDlq,
  urlGroups,
  searchIndexes,
  vectorStats,
};
