/**
 * TLS of a web configuration file: it accepts only certificates and keys that match, and settings that can take effect.
 */
import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { Secret } from '#foundation/platform/secret.ts';
import {
  CIPHERS,
  CURVES,
  secureContextOf,
  VERSIONS,
  type ClientAuth,
  type WebTls,
} from '#operate/http/tls-settings.ts';
import type { WebSettings } from '#operate/http/web-settings.ts';
import type { WebMaterial } from './web-material.ts';

type Section = NonNullable<WebSettings['tls_server_config']>;

/** @returns undefined without TLS settings, and for faults, which are added to the material */
export function readWebTls(section: Section, material: WebMaterial): WebTls | undefined {
  const given = (key: 'cert' | 'key' | 'client_ca') =>
    material.read(key, { text: section[key] ?? '', file: section[`${key}_file`] ?? '' });
  const cert = given('cert');
  const key = given('key');
  const clientCa = given('client_ca');
  const { client_auth_type: written } = section;
  if (!asksForTls(section)) {
    const unused = unusedKey(section);
    if (unused !== undefined)
      material.fault(unused, 'no effect: TLS needs a certificate', 'add cert_file and key_file');
    return undefined;
  }
  const before = material.faults.length;
  if (cert === undefined && !isGiven(section, 'cert'))
    material.fault('', 'the certificate is missing', 'add cert_file');
  if (key === undefined && !isGiven(section, 'key')) material.fault('', 'the key is missing', 'add key_file');
  // `RequireClientCert` is an old name that is still accepted.
  const clientAuth = written === 'RequireClientCert' ? 'RequireAnyClientCert' : written || 'NoClientCert';
  checkClients(section, { clientAuth, material });
  const chain = cert && certificates(cert, material);
  const authorities = clientCa && certificates(clientCa, material);
  // A chain is verified up to a self-signed certificate.
  if (verifies(clientAuth) && authorities?.every(({ subject, issuer }) => subject !== issuer) === true) {
    const message = 'every client certificate would be invalid: the root of these authorities is missing';
    material.fault(clientCa!.key, message, 'add the root certificate');
  }
  const privateKey = key && readKey(key, material);
  if (chain !== undefined && privateKey !== undefined && !chain[0]!.checkPrivateKey(privateKey)) {
    const message = `the key in ${key!.file} does not match the certificate in ${cert!.file}`;
    material.fault(key!.key, message, 'replace both together');
  }
  const tls12 = (section.cipher_suites ?? []).flatMap((name) => CIPHERS[name] ?? []);
  const minVersion = minVersionOf(section, tls12);
  const maxVersion = VERSIONS[section.max_version ?? 'TLS13'];
  if (minVersion > maxVersion) {
    material.fault('max_version', 'lower than the minimum version', 'check min_version and cipher_suites');
  }
  if (material.faults.slice(before).some(({ severity }) => severity !== 'warning')) return undefined;
  if (chain === undefined || privateKey === undefined) return undefined;
  const sans = section.client_allowed_sans;
  const curves = section.curve_preferences ?? [];
  return whole(material, {
    cert: cert!.text,
    certFile: cert!.file,
    key: Secret.of(key!.text),
    clientCa: clientCa?.text,
    clientAuth,
    ...(sans !== null && sans !== undefined && { allowedSans: sans }),
    minVersion,
    maxVersion,
    ...(tls12.length > 0 && { ciphers: [...TLS13, ...tls12].join(':') }),
    honorCipherOrder: section.prefer_server_cipher_suites ?? true,
    ...(curves.length > 0 && { curves: curves.map((name) => CURVES[name]).join(':') }),
    notAfter: Math.min(...chain.map((one) => Date.parse(one.validTo))),
  });
}

const TLS13 = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'];

function asksForTls(section: Section): boolean {
  return ['cert', 'cert_file', 'key', 'key_file', 'client_ca', 'client_ca_file', 'client_auth_type'].some(
    (name) => (section[name as keyof Section] ?? '') !== '',
  );
}

/** First key with a value. */
function unusedKey(section: Section): string | undefined {
  return Object.entries(section).find(([, value]) => value !== null && value !== undefined && value !== '')?.[0];
}

/** If only TLS 1.3 suites are listed, older versions are impossible. @param tls12 listed suites of older versions */
function minVersionOf({ cipher_suites: wanted, min_version: least }: Section, tls12: readonly string[]) {
  return (wanted ?? []).length > 0 && tls12.length === 0 ? 'TLSv1.3' : VERSIONS[least ?? 'TLS12'];
}

function isGiven(section: Section, key: 'cert' | 'key'): boolean {
  return (section[key] ?? '') !== '' || (section[`${key}_file`] ?? '') !== '';
}

function verifies(clientAuth: ClientAuth): boolean {
  return clientAuth === 'VerifyClientCertIfGiven' || clientAuth === 'RequireAndVerifyClientCert';
}

const VERIFY = 'write client_auth_type: RequireAndVerifyClientCert';
const NOT_REQUESTED = ['no effect: without client_auth_type, no certificate is requested', VERIFY] as const;

/** Checks client settings that would admit more or fewer clients than intended. */
function checkClients(
  section: Section,
  { clientAuth, material }: { clientAuth: ClientAuth; material: WebMaterial },
): void {
  const caKey = (section.client_ca_file ?? '') === '' ? 'client_ca' : 'client_ca_file';
  const hasCa = (section[caKey] ?? '') !== '';
  if (hasCa && clientAuth === 'NoClientCert') {
    material.fault(caKey, ...NOT_REQUESTED);
  }
  if (verifies(clientAuth) && !hasCa) {
    const message = `${clientAuth} without authorities: a certificate of any authority would be valid`;
    material.fault('client_auth_type', message, 'add client_ca_file');
  }
  const sans = section.client_allowed_sans;
  if (sans === null || sans === undefined) return;
  if (clientAuth === 'NoClientCert') {
    material.fault('client_allowed_sans', ...NOT_REQUESTED);
  } else if (!verifies(clientAuth)) {
    const message = `${clientAuth} does not verify certificates: anyone can create one with such a name`;
    material.fault('client_allowed_sans', message, VERIFY, 'warning');
  } else if (sans.length === 0) {
    material.fault(
      'client_allowed_sans',
      'the list is empty, so every client would be rejected',
      'add names, or remove the key',
    );
  }
}

function certificates(
  { text, key }: { text: string; key: string },
  material: WebMaterial,
): X509Certificate[] | undefined {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----(?:[^-]*-----END CERTIFICATE-----)?/g) ?? [];
  if (blocks.length === 0) {
    material.fault(key, 'no certificate in PEM form', 'PEM begins with -----BEGIN CERTIFICATE-----');
    return undefined;
  }
  try {
    return blocks.map((block) => new X509Certificate(block));
  } catch {
    material.fault(key, 'invalid certificate', 'check that the file is complete');
    return undefined;
  }
}

function readKey({ text, key }: { text: string; key: string }, material: WebMaterial): KeyObject | undefined {
  if (/^(?:-----BEGIN ENCRYPTED|Proc-Type: 4,ENCRYPTED)/m.test(text)) {
    material.fault(
      key,
      'this key is encrypted, and the daemon has no passphrase',
      'decrypt it with openssl pkey -in FILE -out FILE',
    );
    return undefined;
  }
  try {
    return createPrivateKey(text);
  } catch {
    // The error is not shown, since it may quote the key.
    material.fault(key, 'no private key in PEM form', 'PEM begins with -----BEGIN PRIVATE KEY-----');
    return undefined;
  }
}

/** Checks the result with the library, which would reject it later. */
function whole(material: WebMaterial, tls: WebTls): WebTls | undefined {
  const { createSecureContext } = process.getBuiltinModule('node:tls');
  try {
    createSecureContext(secureContextOf(tls));
    return tls;
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    material.fault('', `invalid TLS settings (${code})`, 'check for a short key or an unknown cipher');
    return undefined;
  }
}
