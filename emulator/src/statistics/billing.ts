/**
 * Cost of messages. Every delivery attempt is one billed message. Amounts are integer micro-dollars (millionths of a
 * dollar), so that days add up to their month exactly.
 */

export interface PriceTable {
  /** Micro-dollars for 100,000 messages. */
  readonly microUsdPer100kMessages: number;
  /** Micro-dollars for 100,000 messages of workflows. */
  readonly microUsdPer100kWorkflowMessages: number;
}

/** One dollar for 100,000 messages of either kind. */
export const DEFAULT_PRICES: PriceTable = {
  microUsdPer100kMessages: 1_000_000,
  microUsdPer100kWorkflowMessages: 1_000_000,
};

/** @returns whole micro-dollars; the sum of both counts is rounded down once */
export function billingMicroUsd(
  counts: { readonly messages: number; readonly workflowMessages: number },
  prices: PriceTable,
): number {
  const amount =
    counts.messages * prices.microUsdPer100kMessages + counts.workflowMessages * prices.microUsdPer100kWorkflowMessages;
  return Math.floor(amount / 100_000);
}

export function microUsdToUsd(microUsd: number): number {
  return microUsd / 1_000_000;
}
