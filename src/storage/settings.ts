/** Settings of the store. */
import { z } from 'zod';
import { durationSetting } from '#foundation/platform/settings.ts';

export const storageSettings = z.strictObject({
  sqlite: z
    .strictObject({
      path: z
        .string()
        .min(1)
        .default('./data/opsd.db')
        .describe('The one file of the store; its folder is made when missing.'),
    })
    .prefault({})
    .describe('A SQLite file, made when missing.'),
  audit: z
    .strictObject({
      maxFileBytes: z
        .int()
        .min(1_048_576)
        .default(268_435_456)
        .describe('Size at which the file of the audit log becomes a segment, and a new file continues the chain.'),
    })
    .prefault({})
    .describe('The audit log beside the store.'),
  backup: z
    .strictObject({
      every: durationSetting({ min: '1m' }).prefault('1d').describe('How often a copy is written.'),
      dir: z
        .string()
        .min(1)
        .describe('Folder of the copies; created when missing. Choose another disk than that of the store.'),
      keep: z.int().min(1).default(7).describe('Number of copies to keep.'),
    })
    .exactOptional()
    .describe('Scheduled copies of the store; none unless given.'),
});

export type StorageSettings = z.output<typeof storageSettings>;
