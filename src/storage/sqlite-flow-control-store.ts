/** Store of the flow-control aggregation. Only its counters are stored. */
import { FlowControlMemory, type FlowControlAggregationStore } from '#observe/aggregation/flow-control-store.ts';
import type { SqliteTotals } from './sqlite-totals.ts';

export function createFlowControlStore(totals: SqliteTotals): FlowControlAggregationStore {
  const memories = new Map<string, FlowControlMemory>();
  return {
    memory(account) {
      let found = memories.get(account);
      if (found === undefined) memories.set(account, (found = new FlowControlMemory()));
      return found;
    },
    commitFlowControl: (account, increments) => totals.commit({ account, increments }, () => undefined),
  };
}
