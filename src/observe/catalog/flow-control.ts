/** Metrics of flow-control keys: their current state, and how long messages waited for them. */
import { counter, family, gauge } from './metric-spec.ts';

const KEY = ['flow_control_key'] as const;

const live = family(
  { heading: 'Flow control', account: true, collector: 'flowControl' },
  {
    msgsvc_flow_control_waitlist_messages: gauge(
      KEY,
      'messages',
      'waitListSize',
      'Messages waiting because of flow control.',
    ),
    msgsvc_flow_control_parallelism_limit: gauge(
      KEY,
      'messages',
      'parallelismMax',
      'Configured maximum of messages in parallel. Absent if no parallelism is set.',
    ),
    msgsvc_flow_control_parallelism_in_use: gauge(
      KEY,
      'messages',
      'parallelismCount',
      'Messages currently running in parallel.',
    ),
    msgsvc_flow_control_rate_limit_messages: gauge(
      KEY,
      'messages',
      'rateMax',
      'Configured maximum of messages per rate period. Absent if no rate is set.',
    ),
    msgsvc_flow_control_rate_used_messages: gauge(
      KEY,
      'messages',
      'rateCount',
      'Messages dispatched in the current rate period; aliased if the poll interval exceeds the rate period.',
    ),
    msgsvc_flow_control_rate_period_seconds: gauge(
      KEY,
      'seconds',
      'ratePeriod',
      'Length of the rate period, in seconds.',
      {
        merge: 'max',
      },
    ),
    msgsvc_flow_control_rate_period_start_timestamp_seconds: gauge(
      KEY,
      'timestamp',
      'ratePeriodStart',
      'Unix timestamp when the current rate period began.',
      { merge: 'max' },
    ),
    msgsvc_flow_control_parallelism_pinned: gauge(
      KEY,
      'flag',
      'isPinnedParallelism',
      '1 if the key has a pinned parallelism configuration, else 0.',
      { merge: 'max' },
    ),
    msgsvc_flow_control_rate_pinned: gauge(
      KEY,
      'flag',
      'isPinnedRate',
      '1 if the key has a pinned rate configuration, else 0.',
      { merge: 'max' },
    ),
    msgsvc_flow_control_paused: gauge(
      KEY,
      'flag',
      'isPaused',
      '1 if delivery of messages of this key is paused, else 0.',
      { merge: 'max' },
    ),
    msgsvc_flow_control_keys: gauge(
      ['origin'],
      'items',
      'derived',
      'Watched flow control keys, by origin: configured, or discovered in entries of the log and the workflow DLQ.',
    ),
  },
);

const counted = family(
  { heading: 'Flow control', account: true },
  {
    msgsvc_flow_control_saturated_seconds_total: counter(
      ['flow_control_key', 'constraint'],
      'seconds',
      'two readings that show a waiting list',
      'Time with waiting messages in seconds, by constraint: parallelism, rate, paused, or other (no visible limit, or different ones at the two readings).',
      { mirrored: true },
    ),
    opsd_flow_control_keys_unwatched_total: counter(
      [],
      'items',
      'collectors.flowControl.discover',
      'Distinct flow control keys that were seen in entries and are not watched because of the limit.',
      { mirrored: true },
    ),
  },
);

export const flowControl = { ...live, ...counted } as const;
