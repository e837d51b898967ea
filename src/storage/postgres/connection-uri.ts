/** URI of a database, with the meaning that `sslmode` has for all programs of PostgreSQL. */
import { Secret } from '#foundation/platform/secret.ts';
import { hasSeveralHosts, SEVERAL_HOSTS, type PostgresSettings } from '../settings.ts';
import { StoreError } from '../store-error.ts';

const SSL_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'];

export interface ConnectionUri {
  /** URI for the driver. */
  readonly href: string;
  /** Host, port and database, for messages. */
  readonly place: string;
  /** True if a server without TLS is accepted. */
  readonly isTlsOptional: boolean;
}

/** Returns the URI of the settings. */
export function urlOf({ url, urlFile }: Pick<PostgresSettings, 'url' | 'urlFile'>): Secret {
  return url === undefined ? Secret.fromFile(urlFile!) : Secret.of(url);
}

/** @throws {StoreError} without the text of the URI, which contains a password */
export function connectionUri(url: Secret): ConnectionUri {
  const text = url.reveal();
  const parts = URL.parse(text);
  if (hasSeveralHosts(text)) {
    throw new StoreError(`storage.postgres.url ${SEVERAL_HOSTS}`);
  }
  if (parts === null || !/^postgres(?:ql)?:$/.test(parts.protocol)) {
    throw new StoreError('storage.postgres.url must be a URI such as postgres://user:password@host:5432/opsd');
  }
  const { hostname, port, pathname, searchParams } = parts;
  const mode = searchParams.get('sslmode') ?? 'prefer';
  const host = searchParams.get('host') ?? decodeURIComponent(hostname);
  const place = `${host || 'localhost'}:${port || '5432'}${decodeURIComponent(pathname)}`;
  if (!SSL_MODES.includes(mode)) {
    throw new StoreError(`storage.postgres.url: sslmode must be one of ${SSL_MODES.join(', ')}`);
  }
  if (mode === 'verify-ca' && !searchParams.has('sslrootcert')) {
    throw new StoreError(
      'storage.postgres.url: sslmode=verify-ca needs sslrootcert, the file of the certificate authority',
    );
  }
  const isTlsOptional = mode === 'prefer' || mode === 'allow';
  searchParams.set('sslmode', isTlsOptional ? 'prefer' : mode);
  searchParams.set('uselibpqcompat', 'true');
  return { href: parts.href, place, isTlsOptional };
}
