/**
 * Cost of messages. Every delivery attempt is one billed message. Amounts are integer micro-dollars (millionths of a
 * dollar), so that days add up to their month exactly.
 */

/** One dollar for 100,000 messages, those of workflows included. */
export const MICRO_USD_PER_MESSAGE = 10;

export function microUsdToUsd(microUsd: number): number {
  return microUsd / 1_000_000;
}
