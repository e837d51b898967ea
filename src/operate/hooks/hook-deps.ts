/** Dependencies of the hooks. */
import type { Trigger } from '#foundation/domain/plan.ts';
import type { EventBus } from '#foundation/events/events.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { Logger } from '#foundation/platform/logger.ts';
import type { KeptBodies } from '#automate/ledger/kept-bodies.ts';
import type { DeployInbox } from '#automate/ledger/deploys.ts';
import type { SignalInbox } from '#automate/ledger/signals.ts';
import type { CanaryInbox } from '#observe/canary/inbox.ts';
import type { ListenerSecurity } from '../http/listener-security.ts';

export interface HookDeps {
  readonly ledger: SignalInbox & DeployInbox;
  readonly bodies: () => Pick<KeptBodies, 'settings' | 'pack'>;
  /** Names of the accounts. */
  accounts(): readonly string[];
  /**
   * Policies that may run. `when` is a `PolicyWhen` (policies/policy.ts); the hooks use `alert`, `failureCallback` and `afterDeploy`.
   */
  policies(): readonly { readonly name: string; readonly account: string; readonly when: object }[];
  /** Starts a run of a policy soon; returns at once. */
  run(policy: string, trigger: Trigger): void;
  /** Returns the inbox of canaries; absent without canaries. */
  readonly canaries?: () => CanaryInbox | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: EventBus;
  /** Web configuration of the listener. */
  readonly security?: ListenerSecurity;
}
