/** Metrics of the message log: what is counted from its entries, and what its open messages say at present. */
import { counter, family, gauge, histogram } from './metric-spec.ts';

const mirrored = { mirrored: true } as const;

export const logs = family(
  { heading: 'Messages, counted from the log', account: true },
  {
    msgsvc_log_events_total: counter(
      ['state'],
      'messages',
      'state or filter',
      'Log entries counted, once each, by state.',
      mirrored,
    ),
    msgsvc_log_events_by_total: counter(
      ['dimension', 'value', 'state'],
      'messages',
      'topicName, queueName, scheduleId, or label and labels',
      'Log entries by one more dimension, where collectors.logs.dimension names one. An entry with several labels counts for each.',
      mirrored,
    ),
    msgsvc_messages_created_total: counter(['destination'], 'messages', 'CREATED', 'Messages accepted.', mirrored),
    msgsvc_messages_finished_total: counter(
      ['destination'],
      'messages',
      'DELIVERED, final failure, CANCELLED',
      'Messages that reached an end, whatever it was.',
      mirrored,
    ),
    msgsvc_message_failures_total: counter(
      ['destination', 'reason', 'code'],
      'messages',
      'last ERROR without nextDeliveryTime, or FAILED',
      'Messages that failed for good.',
      mirrored,
    ),
    msgsvc_message_cancellations_total: counter(
      ['destination'],
      'messages',
      'CANCELLED',
      'Messages cancelled.',
      mirrored,
    ),
    msgsvc_message_attempts_total: counter(
      ['destination'],
      'messages',
      'ERROR + DELIVERED',
      'Delivery attempts.',
      mirrored,
    ),
    msgsvc_message_attempt_failures_total: counter(
      ['destination', 'reason', 'code'],
      'messages',
      'ERROR: responseStatus, error',
      'Failed delivery attempts.',
      mirrored,
    ),
    msgsvc_message_delivery_duration_seconds: histogram(
      ['destination'],
      [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 21_600, 86_400],
      'due to DELIVERED, joined on messageId',
      'Time from when a message was due until it was delivered.',
      mirrored,
    ),
    msgsvc_message_attempt_duration_seconds: histogram(
      ['destination'],
      [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900],
      'ACTIVE to outcome',
      'Duration of attempts: a slow destination.',
      mirrored,
    ),
    msgsvc_message_queue_wait_seconds: histogram(
      ['destination'],
      [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600],
      'due to ACTIVE',
      'Wait before an attempt, from when it was due: a slow service, or flow control.',
      mirrored,
    ),
    msgsvc_message_delivery_attempts: histogram(
      [],
      [1, 2, 3, 4, 6, 11],
      'attempts of a message',
      'Attempts needed until delivery.',
      { ...mirrored, unit: 'items' },
    ),
    msgsvc_message_retry_delay_seconds: histogram(
      [],
      [1, 5, 15, 60, 300, 1_800, 7_200, 21_600, 86_400],
      'nextDeliveryTime − time of an ERROR',
      'Delay scheduled before the next attempt.',
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
      'Messages accepted and not yet ended, of those whose entries were read; absent where the log does not tell each change of state.',
      { merge: 'sum', lingers: true },
    ),
    msgsvc_messages_oldest_due_timestamp_seconds: gauge(
      ['destination'],
      'timestamp',
      'time or nextDeliveryTime of messages in flight',
      'When the oldest message that is due became due; absent when none is.',
      { merge: 'min' },
    ),
  },
);

export const logReader = family(
  { heading: 'The reader of the log', account: true },
  {
    opsd_logs_pages_total: counter([], 'items', 'windows', 'Pages of the log read.', mirrored),
    opsd_logs_windows_halved_total: counter(
      [],
      'items',
      'windows',
      'Windows of the log that reached a limit or failed, and were read again in smaller parts.',
      mirrored,
    ),
    opsd_logs_watermark_resets_total: counter(
      [],
      'items',
      'windows',
      'Resets of the watermark of the log because it was ahead of the local clock.',
      mirrored,
    ),
    opsd_logs_duplicate_entries_total: counter(
      [],
      'items',
      'windows',
      'Log entries that were read again and not counted again.',
      { ...mirrored, debug: true },
    ),
    opsd_logs_late_entries_total: counter(
      [],
      'items',
      'sweep',
      'Log entries that were not there yet when their time was read first, and were found later.',
      mirrored,
    ),
    opsd_logs_refused_entries_total: counter(
      [],
      'items',
      'windows',
      'Log entries that could not be parsed and are counted nowhere else; each counts once, however often it is listed.',
      mirrored,
    ),
    opsd_logs_unjoined_deliveries_total: counter(
      [],
      'items',
      'joins',
      'Deliveries whose duration is not known, since the creation of the message was never read.',
      mirrored,
    ),
    opsd_logs_unjoined_attempts_total: counter(
      [],
      'items',
      'joins',
      'Attempts whose duration is not known, since their beginning was never read.',
      mirrored,
    ),
    opsd_logs_revised_durations_total: counter(
      [],
      'items',
      'joins',
      'Waits and attempts that were measured and that a late entry showed to be other ones.',
      { ...mirrored, debug: true },
    ),
    opsd_logs_given_up_messages_total: counter(
      [],
      'items',
      'joins',
      'Messages no longer waited for: nothing was heard of them for a day, or too many were in flight.',
      mirrored,
    ),
    opsd_logs_watermark_timestamp_seconds: gauge(
      [],
      'timestamp',
      'windows',
      'Log entries up to this time are counted.',
    ),
    opsd_logs_lag_seconds: gauge(
      [],
      'seconds',
      'windows',
      'Age of the watermark of the log, in seconds; absent while the watermark is ahead of the local clock.',
    ),
    opsd_logs_catch_up_ratio: gauge(
      [],
      'as served',
      'windows',
      'Seconds of log counted per second, over the last 10 minutes: above 1 the lag falls, below 1 it grows.',
    ),
  },
);

export const logForm = family(
  { heading: 'The reader of the log', account: true, collector: 'logs' },
  {
    opsd_logs_form_info: gauge(
      ['form'],
      'info',
      'entries of a delivered message',
      'What the log tells: transitions (an entry for each change of state), present (one entry a message), or unknown so far. Always 1.',
    ),
  },
);
