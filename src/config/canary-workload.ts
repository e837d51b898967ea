/** Estimated cost of each canary: messages at the service, requests of the daemon, and bytes, each a day. */
import type { Account, Config } from './config.ts';

type Canary = Account['canaries'][number];

export interface CanaryCost {
  readonly account: string;
  readonly canary: string;
  /** Messages that the daemon sends. */
  readonly sentPerDay: number;
  /** Messages that the service counts: each message, and the callback about it. */
  readonly messagesPerDay: number;
  /** Requests of the message API while the messages succeed. */
  readonly requestsPerDay: number;
  /** The same while every message fails: the log is read until the end of the patience. */
  readonly mostRequestsPerDay: number;
  /** Bodies as sent and as received, and responses of the log. */
  readonly bytesPerDay: number;
}

const DAY_MS = 86_400_000;
/** Reads of the log for a message that succeeds: the first one may be too early. */
const LOG_READS = 2;
const FIRST_READ_MS = 1_000;
/** The silence of the log counts after this many timeouts. */
const PATIENCE = 2;
/** Reads of a failed message beside the log: its callback, its flow-control key, and the log at both limits. */
const QUESTIONS = 4;

export function canaryCosts(config: Config, logBytes: number): readonly CanaryCost[] {
  return config.accounts.flatMap((account) =>
    account.canaries.map((canary) => ({ account: account.name, canary: canary.name, ...costOf(canary, logBytes) })),
  );
}

/** @param logBytes size of the log of one message in a response */
function costOf({ every, size, realSize, realEvery, timeout, via = {} }: Canary, logBytes: number) {
  const rounds = DAY_MS / every;
  const real = Math.min(rounds, DAY_MS / realEvery);
  const bodies = (rounds - real) * size + real * realSize;
  // Flow control and the endpoints of a URL Group are read before each publish request.
  const before = 'flowControlKey' in via || 'urlGroup' in via ? 1 : 0;
  return {
    sentPerDay: rounds,
    messagesPerDay: Math.ceil(rounds * ('workflow' in via ? 1 : 2)),
    requestsPerDay: Math.ceil(rounds * (before + 1 + LOG_READS)),
    mostRequestsPerDay: Math.ceil(rounds * (before + 1 + readsUntil(PATIENCE * timeout) + QUESTIONS)),
    bytesPerDay: Math.ceil(2 * bodies + rounds * LOG_READS * logBytes),
  };
}

/** Number of reads until a time, each after twice the interval of the previous one. */
function readsUntil(ms: number): number {
  return Math.ceil(Math.log2(ms / FIRST_READ_MS + 1));
}
