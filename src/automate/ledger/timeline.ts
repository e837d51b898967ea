/** Reader of the history of an account: sums of its log, highest values of its readings, and its repairs. */
import type { Campaign } from '#foundation/domain/campaign.ts';
import type { Deploy } from '#foundation/domain/deploy.ts';
import type { Pause } from './pauses.ts';

export interface TimelineQuery {
  readonly accounts: readonly {
    readonly name: string;
    /** True if the account has a log, and readings of the message API. */
    readonly hasLog: boolean;
    readonly hasSpend: boolean;
  }[];
  /** Epoch milliseconds, a multiple of `stepMs`, as is `to`. */
  readonly from: number;
  readonly to: number;
  /** Length of a point. If it is a multiple of an hour, the sums of hours are read. */
  readonly stepMs: number;
}

/** Sums over the accounts that can have the value. */
export interface TimelinePoint {
  readonly at: number;
  readonly created: number;
  readonly delivered: number;
  readonly failed: number;
  readonly retried: number;
  /** Delivered messages by bucket of their duration, not cumulative. */
  readonly durations: readonly number[];
  /** A sum is undefined if the value of an account is unknown. */
  readonly inFlight?: number;
  readonly failedRuns?: number;
  readonly deadLetters?: number;
  readonly spendUsd?: number;
}

export interface Timeline {
  /** Points with a sum or a reading, oldest first. */
  readonly points: readonly TimelinePoint[];
  /** Counted period, the same for the logs of all accounts. Undefined if there is none, or one is not counted. */
  readonly counted?: { readonly from: number; readonly to: number };
  /** Outcomes of actions, by the start of their point. */
  readonly repairs: readonly { readonly at: number; readonly verified: number; readonly failedAgain: number }[];
  /** Readings of the flow-control keys of an account, oldest first. Empty for several accounts. */
  readonly flowControl: readonly {
    readonly at: number;
    readonly keys: readonly (readonly [key: string, messages: number])[];
    /** True if keys with fewer messages are missing. */
    readonly isCut: boolean;
  }[];
  /** Campaigns and pauses of all accounts that began in the period, newest first, at most 100 each. */
  readonly campaigns: readonly Campaign[];
  readonly pauses: readonly Pause[];
  /** Deploys of the accounts in the period, newest first. */
  readonly deploys: readonly Deploy[];
}

export interface TimelineReader {
  timeline(query: TimelineQuery): Promise<Timeline>;
}
