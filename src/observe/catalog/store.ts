/** Metrics of the files of the store (`opsd_store_*` and `opsd_backup_*`). */
import { counter, family, gauge } from './metric-spec.ts';

export const storeFiles = family(
  { heading: 'The store', account: false },
  {
    opsd_store_size_bytes: gauge(
      [],
      'bytes',
      'store',
      'Size of the store file and its write-ahead log, in bytes. Absent if the file does not exist.',
    ),
    opsd_store_free_bytes: gauge(
      [],
      'bytes',
      'store',
      'Space available to the daemon on the file system of the store, in bytes.',
    ),
    opsd_backup_interval_seconds: gauge(
      [],
      'seconds',
      'configuration',
      'Configured interval of scheduled backups, in seconds. Absent if backups are not scheduled.',
    ),
    opsd_backup_last_success_timestamp_seconds: gauge(
      [],
      'timestamp',
      'backup folder',
      'Unix timestamp of the newest complete and verified scheduled backup. Absent if there is none.',
    ),
    opsd_backup_size_bytes: gauge([], 'bytes', 'backup folder', 'Size of the newest scheduled backup, in bytes.'),
    opsd_backup_failures_total: counter([], 'items', 'store', 'Scheduled backups that failed.'),
  },
);
