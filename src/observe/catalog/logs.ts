/** Metrics of the message log: counts of its entries, and the current state of its open messages. */
import { counter, family, gauge, histogram } from './metric-spec.ts';

const mirrored = { mirrored: true } as const;

export const logs = family(
  { heading: 'Messages, counted from the log', account: true },
  {
    msgsvc_log_events_total: counter(
      ['state'],
      'messages',
      'state or filter',
      'Log entries by state, each counted once.',
      mirrored,
    ),
    msgsvc_log_events_by_dimension_total: counter(
      ['dimension', 'value', 'state'],
      'messages',
      'topicName, queueName, scheduleId, or label and labels',
      'Log entries by the dimension of collectors.logs.dimension; an entry with several labels counts for each. Absent if no dimension is configured.',
      mirrored,
    ),
    msgsvc_messages_created_total: counter(['destination'], 'messages', 'CREATED', 'Messages created.', mirrored),
    msgsvc_messages_finished_total: counter(
      ['destination'],
      'messages',
      'DELIVERED, final failure, CANCELLED',
      'Messages that ended: delivered, failed or cancelled.',
      mirrored,
    ),
    msgsvc_message_failures_total: counter(
      ['destination', 'reason', 'code'],
      'messages',
      'last ERROR without nextDeliveryTime, or FAILED',
      'Messages that finally failed.',
      mirrored,
    ),
    msgsvc_message_cancellations_total: counter(
      ['destination'],
      'messages',
      'CANCELLED',
      'Messages that were cancelled.',
      mirrored,
    ),
    msgsvc_message_attempts_total: counter(
      ['destination'],
      'messages',
      'ERROR + DELIVERED',
      'Delivery attempts that ended.',
      mirrored,
    ),
    msgsvc_message_attempt_failures_total: counter(
      ['destination', 'reason', 'code'],
      'messages',
      'ERROR: responseStatus, error',
      'Delivery attempts that failed.',
      mirrored,
    ),
    msgsvc_message_delivery_duration_seconds: histogram(
      ['destination'],
      [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 21_600, 86_400],
      'due to DELIVERED, joined on messageId',
      "Time between a message's due time and its delivery, in seconds.",
      mirrored,
    ),
    msgsvc_message_attempt_duration_seconds: histogram(
      ['destination'],
      [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900],
      'ACTIVE to outcome',
      'Duration of delivery attempts, in seconds; high for a slow destination.',
      mirrored,
    ),
    msgsvc_message_queue_wait_seconds: histogram(
      ['destination'],
      [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600],
      'due to ACTIVE',
      "Wait between an attempt's due time and its start, in seconds; high for a slow service or flow control.",
      mirrored,
    ),
    msgsvc_message_delivery_attempts: histogram(
      [],
      [1, 2, 3, 4, 6, 11],
      'attempts of a message',
      'Attempts that a message took until its delivery.',
      { ...mirrored, unit: 'items' },
    ),
    msgsvc_message_retry_delay_seconds: histogram(
      [],
      [1, 5, 15, 60, 300, 1_800, 7_200, 21_600, 86_400],
      'nextDeliveryTime − time of an ERROR',
      'Scheduled delay before the next attempt, in seconds.',
      mirrored,
    ),
  },
);

export const openMessages = family(
  { heading: 'Messages in flight, from the log', account: true, collector: 'logs' },
  {
    msgsvc_messages_in_flight: gauge(
      ['destination'],
      'messages',
      'CREATED without an end',
      'Messages created and not yet ended, among those whose entries were read. Absent if the log does not report each change of state.',
      { merge: 'sum', lingers: true },
    ),
    msgsvc_messages_oldest_due_timestamp_seconds: gauge(
      ['destination'],
      'timestamp',
      'time or nextDeliveryTime of messages in flight',
      'Unix timestamp of the due time of the longest overdue message. Absent if no message is due.',
      { merge: 'min' },
    ),
  },
);

export const logReader = family(
  { heading: 'Log reader', account: true },
  {
    opsd_log_pages_total: counter([], 'items', 'windows', 'Pages read from the log.', mirrored),
    opsd_log_windows_halved_total: counter(
      [],
      'items',
      'windows',
      'Log windows that reached a limit or failed, and were read again in smaller parts.',
      mirrored,
    ),
    opsd_log_watermark_resets_total: counter(
      [],
      'items',
      'windows',
      'Resets of the log watermark because it was ahead of the local clock.',
      mirrored,
    ),
    opsd_log_duplicate_entries_total: counter(
      [],
      'items',
      'windows',
      'Log entries that were read again and not counted again.',
      { ...mirrored, debug: true },
    ),
    opsd_log_late_entries_total: counter(
      [],
      'items',
      'sweep',
      'Log entries that appeared after their time was first read and were found by a sweep.',
      mirrored,
    ),
    opsd_log_invalid_entries_total: counter(
      [],
      'items',
      'windows',
      'Invalid log entries, which no other metric counts; each counts once.',
      mirrored,
    ),
    opsd_log_unjoined_deliveries_total: counter(
      [],
      'items',
      'joins',
      'Deliveries of unknown duration because the creation of the message was never read.',
      mirrored,
    ),
    opsd_log_unjoined_attempts_total: counter(
      [],
      'items',
      'joins',
      'Attempts of unknown duration because their start was never read.',
      mirrored,
    ),
    opsd_log_revised_durations_total: counter(
      [],
      'items',
      'joins',
      'Measured waits and attempts that a late entry proved wrong.',
      { ...mirrored, debug: true },
    ),
    opsd_messages_abandoned_total: counter(
      [],
      'items',
      'joins',
      'Messages abandoned because they had no entry for a day, or because too many messages were in flight.',
      mirrored,
    ),
    opsd_log_watermark_timestamp_seconds: gauge(
      [],
      'timestamp',
      'windows',
      'Unix timestamp of the end of the counted log.',
    ),
    opsd_log_lag_seconds: gauge(
      [],
      'seconds',
      'windows',
      'Age of the log watermark, in seconds. Absent while the watermark is ahead of the local clock.',
    ),
    opsd_log_catch_up_ratio: gauge(
      [],
      'as served',
      'windows',
      'Seconds of log counted per second, over the last 10 minutes; the lag shrinks above 1 and grows below 1.',
    ),
  },
);

export const entryMode = family(
  { heading: 'Log reader', account: true, collector: 'logs' },
  {
    opsd_log_entry_mode_info: gauge(
      ['mode'],
      'info',
      'entries of a delivered message',
      'Entry mode of the log, always 1: transitions (an entry for each change of state), present (one entry per message), or unknown so far.',
    ),
  },
);
