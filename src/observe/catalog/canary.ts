/** Metrics of canaries. */
import { counter, family, gauge, histogram } from './metric-spec.ts';

const CANARY = ['canary'] as const;

/** Seconds: a round trip takes a fraction of a second, and the longest timeout is an hour. */
const BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3_600] as const;

export const canaries = family(
  { heading: 'Canaries', account: true },
  {
    msgsvc_canary_verdict_info: gauge(
      ['canary', 'verdict'],
      'info',
      'canaries',
      'Verdict of the last message of a canary, always 1: ok, service, account, throttled, network, receiver, service_reporting, or unknown.',
    ),
    msgsvc_canary_round_trip_seconds: histogram(
      CANARY,
      BUCKETS,
      'canaries',
      'Time from the publish request of a canary message to its arrival at the hooks listener, in seconds.',
    ),
    msgsvc_canary_phase_seconds: histogram(
      ['canary', 'phase'],
      BUCKETS,
      'canaries',
      'Duration of a phase in seconds: accepted (from the request), logged and arrived (from accepted), callback and delivered (from arrived). The log is read at intervals, so logged and delivered are upper bounds.',
    ),
    msgsvc_canary_messages_total: counter(
      ['canary', 'outcome'],
      'messages',
      'canaries',
      'Canary messages by outcome: sent, rejected (by the service), arrived, late (after the timeout), altered, duplicate, or lost.',
    ),
    msgsvc_canary_last_success_timestamp_seconds: gauge(
      CANARY,
      'timestamp',
      'canaries',
      'Unix timestamp of the arrival of the last canary message with the verdict ok. Absent before the first one.',
    ),
  },
);
