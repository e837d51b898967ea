/** The account record (interface 2.7). Only a token rotation returns it. */
import type { Account } from '../state/account.ts';
import { recordedLimits, RESERVED_PRICES_USD } from '../state/limits.ts';

/** Facts of the record that the account itself does not hold. */
export interface AccountOrigin {
  readonly createdBy: string;
  /** Unix seconds. */
  readonly createdAt: number;
  /** Unix seconds; 0 before the first change of plan. */
  readonly planChangedAt: number;
}

/** Builds the record, credentials included. Only the response to a rotation carries it. */
export function accountRecord(account: Account, origin: AccountOrigin, product: string): object {
  const { state = 'active' } = account;
  return {
    customer_id: account.customerId,
    id: account.id,
    token: account.token,
    read_only_token: account.readOnlyToken,
    active: state === 'active',
    state,
    ...(account.modifyingState !== undefined && { modifying_state: account.modifyingState }),
    last_plan_upgrade_time: origin.planChangedAt,
    ...recordedLimits(account),
    prod_pack_enabled: false,
    metrics_enabled: String(account.metricsEnabled ?? true),
    type: account.plan === 'free' ? 'free' : 'paid',
    region: account.region ?? 'eu-central-1',
    reserved_type: reservedType(account, product),
    reserved_price: RESERVED_PRICES_USD[account.plan],
    created_by: origin.createdBy,
    creation_time: origin.createdAt,
    deletion_time: 0,
    budget: account.budgetUsd,
    // The interface does not show the object's fields, so it holds only the id.
    ...(account.plan === 'enterprise' && { enterprise: { id: account.enterpriseId ?? account.id } }),
  };
}

function reservedType(account: Account, product: string): string {
  if (account.plan === 'enterprise') return `enterprise:${account.enterpriseId ?? account.id}`;
  return account.plan.startsWith('fixed') ? `${product}_${account.plan}` : '';
}
