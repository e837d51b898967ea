/** TLS settings of a listener: the names in a web configuration file, their meaning, and the result. */
import { constants } from 'node:crypto';
import type { SecureContextOptions } from 'node:tls';
import type { Secret } from '#foundation/platform/secret.ts';

/** Go's names of cipher suites, and OpenSSL's. Those of TLS 1.3 are always on and cannot be chosen. */
export const CIPHERS = {
  TLS_AES_128_GCM_SHA256: undefined,
  TLS_AES_256_GCM_SHA384: undefined,
  TLS_CHACHA20_POLY1305_SHA256: undefined,
  TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: 'ECDHE-ECDSA-AES128-GCM-SHA256',
  TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: 'ECDHE-RSA-AES128-GCM-SHA256',
  TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: 'ECDHE-ECDSA-AES256-GCM-SHA384',
  TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: 'ECDHE-RSA-AES256-GCM-SHA384',
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-ECDSA-CHACHA20-POLY1305',
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-RSA-CHACHA20-POLY1305',
  TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA: 'ECDHE-ECDSA-AES128-SHA',
  TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA: 'ECDHE-RSA-AES128-SHA',
  TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA: 'ECDHE-ECDSA-AES256-SHA',
  TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA: 'ECDHE-RSA-AES256-SHA',
} as const;

export const CURVES = { X25519: 'X25519', CurveP256: 'P-256', CurveP384: 'P-384', CurveP521: 'P-521' } as const;
export const VERSIONS = { TLS12: 'TLSv1.2', TLS13: 'TLSv1.3' } as const;

export const CLIENT_AUTH = [
  'NoClientCert',
  'RequestClientCert',
  'RequireAnyClientCert',
  'VerifyClientCertIfGiven',
  'RequireAndVerifyClientCert',
] as const;

/** Go's names, with Go's meaning. */
export type ClientAuth = (typeof CLIENT_AUTH)[number];

/** TLS configuration of a listener. */
export interface WebTls {
  /** PEM: the certificate and its intermediate certificates. */
  readonly cert: string;
  /** File that has the certificate, for messages. */
  readonly certFile: string;
  readonly key: Secret;
  /** PEM: authorities of client certificates. */
  readonly clientCa?: string;
  readonly clientAuth: ClientAuth;
  /** Accepted names. A client's certificate must have at least one of them; absent: no restriction. */
  readonly allowedSans?: readonly string[];
  readonly minVersion: (typeof VERSIONS)[keyof typeof VERSIONS];
  readonly maxVersion: (typeof VERSIONS)[keyof typeof VERSIONS];
  /** OpenSSL's list; absent for the default. */
  readonly ciphers?: string;
  readonly honorCipherOrder: boolean;
  /** OpenSSL's list; absent for the default. */
  readonly curves?: string;
  /** Expiry of the first certificate to expire, in epoch milliseconds. */
  readonly notAfter: number;
}

export function secureContextOf(tls: WebTls): SecureContextOptions {
  return {
    cert: tls.cert,
    key: tls.key.reveal(),
    minVersion: tls.minVersion,
    maxVersion: tls.maxVersion,
    honorCipherOrder: tls.honorCipherOrder,
    ...(tls.clientCa !== undefined && { ca: tls.clientCa }),
    ...(tls.ciphers !== undefined && { ciphers: tls.ciphers }),
    ...(tls.curves !== undefined && { ecdhCurve: tls.curves }),
    // A resumed session has no certificate: it would outlive the authority that admitted it.
    ...(tls.clientAuth !== 'NoClientCert' && { secureOptions: constants.SSL_OP_NO_TICKET }),
  };
}
