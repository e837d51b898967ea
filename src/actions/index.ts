/** What the engine can do to the service. It is the engine's only road there. */
import type { Proposal } from '../domain/plan.ts';
import type { ActionRequest, ActResult } from './action.ts';
import type { Listing, ListFilter } from './workflow-dlq-list.ts';

export interface Actions {
  /** Names of the accounts that can be acted on. */
  readonly accounts: readonly string[];
  /** Every entry of the workflow DLQ under a filter. Never rejects: a failed or aborted read is an incomplete listing. */
  list(account: string, filter: ListFilter, signal: AbortSignal): Promise<Listing>;
  /** The request that `act` would send for a proposal. Sends nothing. */
  describe(proposal: Proposal, options: { readonly instance: string }): ActionRequest;
  /**
   * What must be done before the intent: the archive of an entry that will be deleted.
   *
   * @returns why the act must not happen; undefined when all is prepared
   */
  prepare(proposal: Proposal, options: { readonly archive?: { readonly dir: string; readonly require: boolean } }, signal: AbortSignal): Promise<string | undefined>;
  /** One request, never repeated. Never rejects. */
  act(request: ActionRequest): Promise<ActResult>;
}
