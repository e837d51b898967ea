/** Store of the flow-control aggregation. Only its counters are stored. */
import { FlowControlMemory, type FlowControlAggregationStore } from '#observe/aggregation/flow-control-store.ts';
import { getOrAdd } from '#foundation/platform/get-or-add.ts';
import type { StoredTotals } from './totals.ts';

export function createFlowControlStore(totals: StoredTotals): FlowControlAggregationStore {
  const memories = new Map<string, FlowControlMemory>();
  return {
    memory: (account) => getOrAdd(memories, account, () => new FlowControlMemory()),
    commitFlowControl: (account, increments) => totals.add(account, increments),
  };
}
