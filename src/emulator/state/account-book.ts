/** The accounts of one embedded service, found by token or id. Tokens are compared as they are now: a rotation counts at once. */
import type { Random } from '#foundation/platform/random.ts';
import type { Account, PlanName } from './account.ts';
import { randomId } from './ids.ts';
import type { SigningKeys } from './signing-keys.ts';

export interface AccountSeed {
  readonly id: string;
  readonly token: string;
  /** Random when absent. */
  readonly readOnlyToken?: string;
  /** Default: paid. */
  readonly plan?: PlanName;
  /** Dollars a month; 0, the default, is no limit. */
  readonly budgetUsd?: number;
  readonly state?: string;
  readonly modifyingState?: string;
  /** For the plan `enterprise`; the account's id when absent. */
  readonly enterpriseId?: string;
  readonly region?: 'eu-central-1' | 'us-east-1';
  readonly metricsEnabled?: boolean;
  /** Of deliveries; random where absent. */
  readonly signingKeys?: Partial<SigningKeys>;
}

export interface Credential {
  readonly account: Account;
  readonly readOnly: boolean;
}

/** Why an account cannot be added. */
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

  /** @throws {AccountError} when its id or a token is taken, or a token is empty */
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
      throw new AccountError(`account ${seed.id} has a token that is taken`);
    }
    this.#byId.set(account.id, account);
    return account;
  }

  /** As an earlier process left it. What that process had made undefined is so again, whatever the seed says. */
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

  /** What no operation of the interface sets: from now on the account has this state. False when it is unknown. */
  setState(id: string, to: { readonly state: string; readonly modifyingState?: string }): boolean {
    const account = this.#byId.get(id);
    if (account === undefined) return false;
    account.state = to.state;
    account.modifyingState = to.modifyingState;
    return true;
  }

  /**
   * The plan and its limits, from now on; `free`, `fixed` and `enterprise` are what no operation of the interface sets. False
   * when the account is unknown.
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

  /** Told right after a plan has changed. */
  onPlanChanged(listener: () => void): void {
    this.#planListeners.push(listener);
  }

  all(): readonly Account[] {
    return [...this.#byId.values()];
  }
}
