/** The flow-control fold's port: its counters are all that it keeps in the store. */
import { FlowControlMemory, type FlowControlFoldStore } from '#observe/aggregation/flow-control-store.ts';
import type { SqliteTotals } from './sqlite-totals.ts';

export function createFlowControlStore(totals: SqliteTotals): FlowControlFoldStore {
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
