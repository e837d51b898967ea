/** `opsd_store_*` and `opsd_backup_*`: the files of the store. */
import { counter, family, gauge } from './metric-spec.ts';

export const storeFiles = family(
  { heading: 'The store', account: false },
  {
    opsd_store_size_bytes: gauge(
      [],
      'bytes',
      'store',
      'Size of the store file and its write-ahead log; absent when the file is not at its place.',
    ),
    opsd_store_free_bytes: gauge(
      [],
      'bytes',
      'store',
      'Space that the daemon can still use on the file system of the store.',
    ),
    opsd_backup_interval_seconds: gauge(
      [],
      'seconds',
      'configuration',
      'Configured interval of scheduled backups; absent without them.',
    ),
    opsd_backup_last_success_timestamp_seconds: gauge(
      [],
      'timestamp',
      'backup folder',
      'Time of the newest complete and verified backup in the folder of scheduled backups; absent when there is none.',
    ),
    opsd_backup_size_bytes: gauge([], 'bytes', 'backup folder', 'Size of the newest scheduled backup.'),
    opsd_backup_failures_total: counter([], 'items', 'store', 'Scheduled backups that failed.'),
  },
);
