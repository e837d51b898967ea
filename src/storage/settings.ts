/** Settings of the store. */
import { z } from 'zod';
import { always, durationSetting, oneSecret, secret, secretFile } from '#foundation/platform/settings.ts';
import { DEFAULT_STORE_PATH } from '#foundation/platform/socket-path.ts';

export const SEVERAL_HOSTS =
  'names several hosts, but the daemon connects to one: use the address that always leads to the primary server';

/** Returns true for a URI that the URL parser may reject, or misread. */
export function hasSeveralHosts(uri: string): boolean {
  const authority = /^[^:]*:\/\/([^/?]*)/.exec(uri)?.[1] ?? '';
  const named = /[?&]host=([^&]*)/.exec(uri)?.[1] ?? '';
  return /,/.test(authority.replace(/^.*@/, '')) || /,|%2c/i.test(named);
}

const postgresSettings = z
  .strictObject({
    url: secret('Connection URI such as `postgres://opsd@db.example:5432/opsd?sslmode=verify-full`')
      .refine((text) => !hasSeveralHosts(text), { message: SEVERAL_HOSTS, abort: true })
      .refine(
        (text) => /^postgres(?:ql)?:\/\//.test(text) && URL.canParse(text),
        'expected a URI that begins with postgres://',
      )
      .exactOptional(),
    urlFile: secretFile('the connection URI').exactOptional(),
    leaseFor: durationSetting({ min: '2s', max: '10m' })
      .prefault('30s')
      .describe('Time after which other replicas take over the accounts of a replica that died silently.'),
    replica: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,252}$/, 'expected letters, digits, dots, hyphens and underscores')
      .exactOptional()
      .describe('Name of this replica, different for each; default: the host name.'),
    poolSize: z
      .int()
      .min(2)
      .max(100)
      .default(8)
      .describe('Maximum number of connections in the pool; two more are outside of it.'),
  })
  .superRefine(oneSecret('url'), always);

export const storageSettings = z
  .strictObject({
    sqlite: z
      .strictObject({
        path: z
          .string()
          .min(1)
          .default(DEFAULT_STORE_PATH)
          .describe('Path of the store file; its folder is created if missing.'),
      })
      .exactOptional()
      .describe('SQLite file of the store, created if missing. The default, unless there is postgres.'),
    postgres: postgresSettings
      .exactOptional()
      .describe('PostgreSQL database of the store, which several replicas share. Replaces sqlite.'),
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
  })
  .superRefine(({ sqlite, postgres, backup }, context) => {
    if (postgres === undefined) return;
    const refuse = (key: string, message: string): void => context.addIssue({ code: 'custom', path: [key], message });
    if (sqlite !== undefined) refuse('sqlite', 'sqlite and postgres are mutually exclusive; keep one of them');
    if (backup !== undefined)
      refuse(
        'backup',
        'backups are copies of an SQLite file; back up the database with its own tools, and remove backup',
      );
  }, always);

export type PostgresSettings = z.output<typeof postgresSettings>;
export type StorageSettings = z.output<typeof storageSettings>;
