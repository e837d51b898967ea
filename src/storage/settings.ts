/** Settings of the store. */
import * as z from 'zod/mini';
import {
  group,
  crossCheck,
  defaulted,
  described,
  durationSetting,
  wholeNumber,
  matching,
  oneSecret,
  optional,
  secret,
  secretFile,
  someText,
} from '#foundation/settings/blocks.ts';
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
    url: secret(
      'Connection URI such as `postgres://opsd@db.example:5432/opsd?sslmode=verify-full`',
      z.refine((text) => !hasSeveralHosts(text), { error: SEVERAL_HOSTS, abort: true }),
      z.refine(
        (text) => /^postgres(?:ql)?:\/\//.test(text) && URL.canParse(text),
        'expected a URI that begins with postgres://',
      ),
    ),
    urlFile: secretFile('the connection URI'),
    leaseFor: defaulted(
      'Time after which other replicas take over the accounts of a replica that died silently.',
      durationSetting({ min: '2s', max: '10m' }),
      '30s',
    ),
    replica: optional(
      'Name of this replica, different for each; default: the host name.',
      matching(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,252}$/, 'expected letters, digits, dots, hyphens and underscores'),
    ),
    poolSize: defaulted(
      'Maximum number of connections in the pool; two more are outside of it.',
      wholeNumber(2, 100),
      8,
    ),
  })
  .check(crossCheck(oneSecret('url')));

export const storageSettings = z
  .strictObject({
    sqlite: optional(
      'SQLite file of the store, created if missing. The default, unless there is postgres.',
      z.strictObject({
        path: defaulted('Path of the store file; its folder is created if missing.', someText, DEFAULT_STORE_PATH),
      }),
    ),
    postgres: optional(
      'PostgreSQL database of the store, which several replicas share. Replaces sqlite.',
      postgresSettings,
    ),
    audit: group('Audit log beside the store.', {
      maxFileBytes: defaulted(
        'File size at which the audit log becomes a segment and a new file continues the chain.',
        wholeNumber(1_048_576),
        268_435_456,
      ),
    }),
    backup: optional(
      'Scheduled backups of the store. Default: none.',
      z.strictObject({
        every: defaulted('Interval of backups.', durationSetting({ min: '1m' }), '1d'),
        dir: described(
          'Folder of the backups, created if missing. Choose another disk than that of the store.',
          someText,
        ),
        keep: defaulted('Number of backups to keep.', wholeNumber(1), 7),
      }),
    ),
  })
  .check(
    crossCheck(({ sqlite, postgres, backup }, context) => {
      if (postgres === undefined) return;
      const refuse = (key: string, message: string): void => context.addIssue({ code: 'custom', path: [key], message });
      if (sqlite !== undefined) refuse('sqlite', 'sqlite and postgres are mutually exclusive; keep one of them');
      if (backup !== undefined)
        refuse(
          'backup',
          'backups are copies of an SQLite file; back up the database with its own tools, and remove backup',
        );
    }),
  );

export type PostgresSettings = z.output<typeof postgresSettings>;
export type StorageSettings = z.output<typeof storageSettings>;
