/** The parts of a service that its control uses. */
import type { AccountBook, AccountSeed } from '../state/account-book.ts';
import type { AccountState } from '../state/account-state.ts';
import type { Account } from '../state/account.ts';
import type { Engine } from '../delivery/engine.ts';
import type { MatchRoute } from '../http/router.ts';
import type { Indexes } from '../statistics/indexes.ts';
import type { LimitsOf } from '../state/limits.ts';
import type { MessageOrigins } from '../state/message-origins.ts';
import type { Statistics } from '../statistics/statistics.ts';
import type { DeliveryHeaderNames } from '../delivery/wire-names.ts';

/** Parts of a service that a test can read and change. A reset replaces all of them. */
export interface ControlledService {
  readonly accounts: AccountBook;
  readonly limitsOf: LimitsOf;
  readonly states: ReadonlyMap<string, AccountState>;
  readonly statistics: Statistics;
  readonly indexes: Indexes;
  readonly engine: Engine;
  readonly origins: MessageOrigins;
  readonly headerPrefix: string;
  readonly headerNames: DeliveryHeaderNames;
  readonly match: MatchRoute;
  /**
   * Adds an account.
   *
   * @throws {AccountError} when its id or a token is in use, or a token is empty
   */
  readonly addAccount: (seed: AccountSeed) => Account;
}
