/** Complete state of one account of the embedded service. */
import type { Clock } from '#foundation/platform/clock.ts';
import type { Account } from './account.ts';
import { Deduplication } from './deduplication.ts';
import { DeadLetterQueue } from './dlq.ts';
import { FlowLanes } from './flow-lane.ts';
import type { AccountJournal } from './journal.ts';
import type { Limits, LimitsOf } from './limits.ts';
import { MessageLog } from './log.ts';
import { isTerminal, type Message } from './message.ts';
import { OpenLanes } from './open-lanes.ts';
import { UrlGroups } from './url-groups.ts';

export interface AccountState {
  readonly accountId: string;
  /** Messages by id: all that have not ended, and ended ones while the log has them. */
  readonly messages: Map<string, Message>;
  readonly log: MessageLog;
  readonly dlq: DeadLetterQueue;
  readonly workflowDlq: DeadLetterQueue;
  readonly urlGroups: UrlGroups;
  readonly deduplication: Deduplication;
  readonly flow: FlowLanes<Message>;
  /** Lanes of messages without a flow-control key. */
  readonly openLanes: OpenLanes<Message>;
}

export interface StateOptions {
  readonly clock: Clock;
  readonly limitsOf: LimitsOf;
  readonly logMaxEntries: number;
  /** Called for every change, if the state is stored. `holds` returns true if a listing still needs a message. */
  readonly journalOf?: ((accountId: string, holds: (message: Message) => boolean) => AccountJournal) | undefined;
}

/** Time that an unused flow-control key is known. */
const FLOW_KEY_KEPT_MS = 3 * 86_400_000;

export function createAccountState(account: Account, options: StateOptions): AccountState {
  const { clock } = options;
  const limits = (): Limits => options.limitsOf(account);
  const messages = new Map<string, Message>();
  const journal = options.journalOf?.(
    account.id,
    ({ id, dlqId = '' }) =>
      messages.has(id) || dlq.get(dlqId)?.message.id === id || workflowDlq.get(dlqId)?.message.id === id,
  );
  const log = new MessageLog({
    retentionMs: () => limits().logRetentionMs,
    maxEntries: options.logMaxEntries,
    // The entry that ends a message is its last one, so the record is removed with it.
    onDropped: (entry) => {
      if (isTerminal(entry.state)) messages.delete(entry.message.id);
      journal?.dropped(entry);
    },
    onLogged: journal && ((entry) => journal.logged(entry)),
  });
  const dlq = new DeadLetterQueue(limits, 'dlq', journal);
  const workflowDlq = new DeadLetterQueue(limits, 'workflowDlq', journal);
  return {
    accountId: account.id,
    messages,
    log,
    dlq,
    workflowDlq,
    urlGroups: new UrlGroups(journal),
    deduplication: new Deduplication(journal),
    flow: new FlowLanes<Message>(clock, FLOW_KEY_KEPT_MS, journal),
    openLanes: new OpenLanes<Message>(clock),
  };
}
