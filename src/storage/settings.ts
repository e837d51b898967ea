/** Settings of the store. */
import { z } from 'zod';
import { durationSetting } from '#foundation/platform/settings.ts';
import { DEFAULT_STORE_PATH } from '#foundation/platform/socket-path.ts';

export const storageSettings = z.strictObject({
  sqlite: z
    .strictObject({
      path: z
        .string()
        .min(1)
        .default(DEFAULT_STORE_PATH)
        .describe('Path of the store file; its folder is created if missing.'),
    })
    .prefault({})
    .describe('SQLite file of the store, created if missing.'),
  audit: z
    .strictObject({
      maxFileBytes: z
        .int()
        .min(1_048_576)
        .default(268_435_456)
        .describe('File size at which the audit log becomes a segment and a new file continues the chain.'),
    })
    .prefault({})
    .describe('Audit log beside the store.'),
  backup: z
    .strictObject({
      every: durationSetting({ min: '1m' }).prefault('1d').describe('Interval of backups.'),
      dir: z
        .string()
        .min(1)
        .describe('Folder of the backups, created if missing. Choose another disk than that of the store.'),
      keep: z.int().min(1).default(7).describe('Number of backups to keep.'),
    })
    .exactOptional()
    .describe('Scheduled backups of the store. Default: none.'),
});

export type StorageSettings = z.output<typeof storageSettings>;
