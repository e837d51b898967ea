/** Ports of the reading views without any data. */
import { systemClock } from '#foundation/platform/clock.ts';
import { FlowControlHistory } from '#observe/observations/flow-control-history.ts';
import { LiveReads } from '#operate/api/live-reads.ts';
import { MessageSearches } from '#operate/api/messages.ts';
import { createKeptBodies } from '#automate/ledger/kept-bodies.ts';
import type { ReadingPorts } from '#operate/api/reading-ports.ts';

export function emptyPorts(): ReadingPorts {
  return {
    flowControlHistory: new FlowControlHistory(),
    bodies: createKeptBodies(new Map(), systemClock),
    canaries: { states: () => [] },
    spend: { budgets: async () => new Map(), dimensions: async () => new Map() },
    audit: {
      search: () => Promise.resolve({ records: [], damaged: 0 }),
      verify: () => Promise.resolve({ records: 0, isTorn: false }),
    },
    liveReads: new LiveReads({ clock: systemClock, messageApi: () => undefined, usage: () => undefined }),
    searches: new MessageSearches(),
    failures: () => undefined,
    configuration: () => ({ hash: '', files: [], settings: {}, yaml: [], policies: [] }),
    policyScopes: async () => undefined,
    policyTests: () => Promise.resolve(undefined),
  };
}
