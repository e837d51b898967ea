/** Certificate that a command shows to the daemon, and why a daemon may reject it. */
import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { CommandError } from './command.ts';

export interface ClientCertificate {
  /** PEM. */
  readonly cert: string;
  readonly key: string;
  /** File of the certificate. */
  readonly file: string;
  /** Expiry, if it has passed. */
  readonly expiredAt?: string;
}

interface Given {
  readonly text: string;
  readonly file: string;
}

/** @throws {CommandError} if the certificate or the key is invalid, or if they do not belong together */
export function clientCertificate(cert: Given, key: Given, now: number): ClientCertificate {
  const certificate = parsed(cert, 'certificate', (text) => new X509Certificate(text));
  const privateKey = parsed<KeyObject>(key, 'key', createPrivateKey);
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new CommandError(
      `the key in ${key.file} does not match the certificate in ${cert.file}: name the files of one pair`,
    );
  }
  const ends = Date.parse(certificate.validTo);
  return {
    cert: cert.text,
    key: key.text,
    file: cert.file,
    ...(ends <= now && { expiredAt: new Date(ends).toISOString() }),
  };
}

function parsed<T>({ text, file }: Given, what: string, parse: (text: string) => T): T {
  try {
    return parse(text);
  } catch {
    // The error is not shown, since it may quote the key.
    throw new CommandError(`${file} has no ${what} in PEM form, or its key is encrypted`);
  }
}

/** Returns true for an error that a server may cause by rejecting the client's certificate, or its absence. */
export function mayBeRejection({ code = '', message }: NodeJS.ErrnoException): boolean {
  return code === 'ECONNRESET' || message === 'socket hang up' || /^ERR_SSL_.*ALERT.*(?:CERTIFICATE|_CA)/.test(code);
}

/** Says what a daemon that demands client certificates may have rejected. */
export function rejectionHelp(shown: Pick<ClientCertificate, 'file' | 'expiredAt'> | undefined): string {
  if (shown === undefined) {
    return (
      'If its web configuration file demands client certificates (client_auth_type), add --cert-file FILE and ' +
      '--key-file FILE, or set OPSD_CERT_FILE and OPSD_KEY_FILE.'
    );
  }
  if (shown.expiredAt !== undefined) {
    return `The client certificate in ${shown.file} expired at ${shown.expiredAt}: renew it.`;
  }
  return (
    `It may reject the client certificate in ${shown.file}: its web configuration file must have the authority in ` +
    'client_ca_file, and with client_allowed_sans one of the names. Its log has the reason at "client rejected".'
  );
}
