/** Authorities and the certificates that they sign, generated in the test. */
import 'reflect-metadata';
import { randomBytes, webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1';
const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2';
const DAY_MS = 86_400_000;

/** PEM texts. */
export interface Issued {
  readonly cert: string;
  readonly key: string;
}

interface CertificateOptions {
  readonly name?: string;
  /** Default: the loopback addresses. */
  readonly sans?: readonly x509.JsonGeneralName[];
  readonly notBefore?: Date;
  readonly notAfter?: Date;
  readonly use?: 'server' | 'client';
}

export interface Authority {
  /** PEM. */
  readonly cert: string;
  issue(options?: CertificateOptions): Promise<Issued>;
}

const LOOPBACK: readonly x509.JsonGeneralName[] = [
  { type: 'ip', value: '127.0.0.1' },
  { type: 'dns', value: 'localhost' },
];

async function newKeys() {
  return webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
}

async function keyText({ privateKey }: webcrypto.CryptoKeyPair): Promise<string> {
  return x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', privateKey), 'PRIVATE KEY');
}

export async function authority(name = 'test authority'): Promise<Authority> {
  x509.cryptoProvider.set(globalThis.crypto);
  const own = await newKeys();
  const issuer = `CN=${name} ${randomBytes(4).toString('hex')}`;
  const root = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: `01${randomBytes(8).toString('hex')}`,
    name: issuer,
    notBefore: new Date(Date.now() - DAY_MS),
    notAfter: new Date(Date.now() + 3_650 * DAY_MS),
    signingAlgorithm: ALGORITHM,
    keys: own,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
    ],
  });
  return {
    cert: `${root.toString('pem')}\n`,
    async issue({ name: subject = 'opsd', sans = LOOPBACK, notBefore, notAfter, use = 'server' } = {}) {
      const keys = await newKeys();
      const certificate = await x509.X509CertificateGenerator.create({
        serialNumber: `01${randomBytes(8).toString('hex')}`,
        subject: `CN=${subject}`,
        issuer,
        notBefore: notBefore ?? new Date(Date.now() - DAY_MS),
        notAfter: notAfter ?? new Date(Date.now() + 30 * DAY_MS),
        signingAlgorithm: ALGORITHM,
        publicKey: keys.publicKey,
        signingKey: own.privateKey,
        extensions: [
          new x509.ExtendedKeyUsageExtension([use === 'server' ? SERVER_AUTH : CLIENT_AUTH]),
          ...(sans.length > 0 ? [new x509.SubjectAlternativeNameExtension([...sans])] : []),
        ],
      });
      return { cert: `${certificate.toString('pem')}\n`, key: `${await keyText(keys)}\n` };
    },
  };
}
