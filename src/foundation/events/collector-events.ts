/** Events of the collectors and their checks. */
import type { CollectorName } from '../domain/observation.ts';

export type CollectorEvent =
  | {
      readonly type: 'collector.finished';
      readonly account: string;
      readonly collector: CollectorName;
      /** Epoch milliseconds. */
      readonly at: number;
      readonly durationMs: number;
      readonly failure?: { readonly reason: string; readonly message: string };
    }
  | {
      readonly type: 'collector.skipped';
      readonly account: string;
      readonly collector: CollectorName;
      readonly reason: 'overlap' | 'quota';
    }
  | {
      /** The watermark of the log was ahead of the local clock; the log is read again from `to`. Epoch milliseconds. */
      readonly type: 'log.set_back';
      readonly account: string;
      readonly from: number;
      readonly to: number;
    }
  | {
      readonly type: 'statistics.checked';
      readonly account: string;
      /** Reference of the comparison: the current element of the daily arrays, or the log of an hour. */
      readonly against: 'day' | 'log';
      /** Source of points, or state of the log. */
      readonly what: string;
      readonly statistics: number;
      readonly other: number;
      readonly isWrong: boolean;
    };
