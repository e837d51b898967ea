/** Check of a client's certificate, or of its absence, with Go's rules. */
import type { TLSSocket } from 'node:tls';
import { jsonOf } from '#foundation/domain/json.ts';
import type { WebTls } from './tls-settings.ts';

/**
 * @returns the reason for the rejection; undefined if the client is accepted. The reason never quotes the certificate, since
 *   the client wrote it
 */
export function refusalOf(socket: TLSSocket, { clientAuth, allowedSans }: WebTls): string | undefined {
  if (clientAuth === 'NoClientCert') return undefined;
  const certificate = socket.getPeerX509Certificate();
  const isNeeded = clientAuth === 'RequireAnyClientCert' || clientAuth === 'RequireAndVerifyClientCert';
  if (certificate === undefined) {
    if (isNeeded) return 'no client certificate';
    return allowedSans === undefined ? undefined : 'no client certificate, so none of the allowed names';
  }
  const verifies = clientAuth === 'VerifyClientCertIfGiven' || clientAuth === 'RequireAndVerifyClientCert';
  if (verifies && !socket.authorized) return invalid(errorCode(socket));
  if (allowedSans === undefined) return undefined;
  const names = namesOf(certificate.subjectAltName ?? '');
  return names.some((name) => allowedSans.includes(name))
    ? undefined
    : 'the client certificate has none of the allowed names';
}

const UNKNOWN_AUTHORITY = 'its authority is not in client_ca_file';

/** Explanations by code of Node. */
const EXPLANATIONS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'it has expired',
  CERT_NOT_YET_VALID: 'it is not valid yet; compare the clocks',
  INVALID_PURPOSE: 'its extended key usage is not for clients',
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_AUTHORITY,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_AUTHORITY,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNKNOWN_AUTHORITY,
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_AUTHORITY,
};

function invalid(code: string): string {
  const why = EXPLANATIONS[code];
  return `the client certificate is invalid${why === undefined ? '' : `: ${why}`} (${code})`;
}

function errorCode({ authorizationError: error }: TLSSocket): string {
  const code: unknown = typeof error === 'object' ? (error as NodeJS.ErrnoException | null)?.code : error;
  return typeof code === 'string' ? code : 'unknown';
}

/** One name of `DNS:a.example, IP Address:192.0.2.1, …`. Ambiguous names are in quotes. */
const NAME = /([A-Za-z][A-Za-z ]*):("(?:[^"\\]|\\.)*"|[^,"]*)(?:, |$)/y;
const KINDS = ['DNS', 'IP Address', 'email', 'URI'];

/** Alternative names of a certificate, in Go's format. An unreadable list has no names. */
function namesOf(subjectAltName: string): readonly string[] {
  const names: string[] = [];
  NAME.lastIndex = 0;
  while (NAME.lastIndex < subjectAltName.length) {
    const match = NAME.exec(subjectAltName);
    if (match === null) return [];
    const [, kind, written] = match;
    const name = plain(written!);
    if (name === undefined) return [];
    if (KINDS.includes(kind!)) names.push(kind === 'IP Address' ? shortAddress(name) : name);
  }
  return names;
}

function plain(written: string): string | undefined {
  return written.startsWith('"') ? (jsonOf(written) as string | undefined) : written;
}

/** `2001:DB8:0:0:0:0:0:1` becomes `2001:db8::1`. */
function shortAddress(address: string): string {
  if (!address.includes(':')) return address;
  return URL.parse(`http://[${address}]`)?.hostname.slice(1, -1) ?? address;
}
