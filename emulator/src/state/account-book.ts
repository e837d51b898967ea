/**
 * The accounts of one embedded service, found by token or id. The current tokens are compared, so a rotation applies at
 * once.
 */
import type { Random } from '#foundation/platform/random.ts';
import type { Account, PlanName } from './account.ts';
import { randomId } from './ids.ts';
import type { AccountSigningKeys } from './signing-keys.ts';

export interface AccountSeed {
  readonly id: string;
  readonly token: string;
  /** Random when absent. */
  readonly readOnlyToken?: string;
  /** Default: paid. */
  readonly plan?: PlanName;
  /** Monthly budget in dollars; 0, the default, is unlimited. */
  readonly budgetUsd?: number;
  readonly state?: string;
  readonly modifyingState?: string;
  /** Only for the plan `enterprise`; the account's id when absent. */
  readonly enterpriseId?: string;
  readonly region?: 'eu-central-1' | 'us-east-1';
  readonly metricsEnabled?: boolean;
  /** Signing keys of deliveries; random when absent. */
  readonly signingKeys?: Partial<AccountSigningKeys>;
}

export interface Credential {
  readonly account: Account;
  readonly readOnly: boolean;
}

/** Reason why an account cannot be added. */
export class AccountError extends Error {
  override readonly name = 'AccountError';
}

export class AccountBook {
  readonly #byId = new Map<string, Account>();
  readonly #planListeners: (() => void)[] = [];

  /** @throws {AccountError} when two accounts share an id or a token, or a token is empty */
  constructor(seeds: readonly AccountSeed[], random: Random) {
    for (const seed of seeds) this.add(seed, random);
  }

  /** @throws {AccountError} when its id or a token is in use, or a token is empty */
  add(seed: AccountSeed, random: Random): Account {
    if (this.#byId.has(seed.id)) throw new AccountError(`account id ${seed.id} is given twice`);
    const owner = `owner@${seed.id}.example`;
    const plan = seed.plan ?? 'paid';
    const account: Account = {
      id: seed.id,
      token: seed.token,
      readOnlyToken: seed.readOnlyToken ?? randomId('ro_', random),
      plan,
      firstPlan: plan,
      budgetUsd: seed.budgetUsd ?? 0,
      customerId: owner,
      createdBy: owner,
      state: seed.state,
      modifyingState: seed.modifyingState,
      enterpriseId: seed.enterpriseId,
      region: seed.region,
      metricsEnabled: seed.metricsEnabled,
    };
    const { token, readOnlyToken } = account;
    if (token === '' || readOnlyToken === '') throw new AccountError(`account ${seed.id} has an empty token`);
    if (token === readOnlyToken || this.byToken(token) !== undefined || this.byToken(readOnlyToken) !== undefined) {
      throw new AccountError(`account ${seed.id} has a token that is in use`);
    }
    this.#byId.set(account.id, account);
    return account;
  }

  /**
   * Restores the account of an earlier process. Fields that were undefined in that process become undefined again,
   * whatever the seed contains.
   */
  restore(stored: Account): void {
    const account = this.#byId.get(stored.id);
    if (account === undefined) throw new Error(`account ${stored.id} is not among those given`);
    const { state, modifyingState, enterpriseId, region, metricsEnabled } = stored;
    Object.assign(account, stored, { state, modifyingState, enterpriseId, region, metricsEnabled });
  }

  byToken(token: string): Credential | undefined {
    for (const account of this.#byId.values()) {
      if (account.token === token) return { account, readOnly: false };
      if (account.readOnlyToken === token) return { account, readOnly: true };
    }
    return undefined;
  }

  byId(id: string): Account | undefined {
    return this.#byId.get(id);
  }

  /** Sets the account's state, which no operation of the interface does. Returns false for an unknown account. */
  setState(id: string, to: { readonly state: string; readonly modifyingState?: string }): boolean {
    const account = this.#byId.get(id);
    if (account === undefined) return false;
    account.state = to.state;
    account.modifyingState = to.modifyingState;
    return true;
  }

  /**
   * Sets the plan and its limits. No operation of the interface sets `free`, `fixed` and `enterprise`. Returns false
   * for an unknown account.
   */
  setPlan(id: string, to: { readonly plan: PlanName; readonly now: number; readonly enterpriseId?: string }): boolean {
    const account = this.#byId.get(id);
    if (account === undefined) return false;
    account.enterpriseId = to.enterpriseId;
    if (account.plan === to.plan) return true;
    account.plan = to.plan;
    account.planChanges = [...(account.planChanges ?? []), { plan: to.plan, at: to.now }];
    for (const listener of this.#planListeners) listener();
    return true;
  }

  /** Calls the listener right after a plan has changed. */
  onPlanChanged(listener: () => void): void {
    this.#planListeners.push(listener);
  }

  all(): readonly Account[] {
    return [...this.#byId.values()];
  }
}
