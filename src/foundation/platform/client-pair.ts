/** Client certificate of outgoing requests, in two files that a rotation replaces one after the other. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { errorMessage } from './error-message.ts';
import { Secret } from './secret.ts';

/** Code of the error for files that cannot be used. */
export const CLIENT_CERTIFICATE = 'ERR_CLIENT_CERTIFICATE';

/** PEM texts, as options of a request. */
export interface ClientPair {
  readonly cert: string;
  readonly key: string;
}

export interface ClientPairFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** Returns the client certificate of settings that name its files. */
export function clientOf({ certFile, keyFile }: Partial<ClientPairFiles>): { readonly client?: () => ClientPair } {
  return certFile === undefined || keyFile === undefined ? {} : { client: clientPair({ certFile, keyFile }) };
}

/**
 * Returns a function that reads both files again when they change. While they do not match, or one is missing, it
 * returns the previous pair. Without one it throws an error that names the files.
 */
export function clientPair(files: ClientPairFiles): () => ClientPair {
  const [cert, key] = [Secret.fromFile(files.certFile), Secret.fromFile(files.keyFile)];
  let current: ClientPair | undefined;
  return () => {
    try {
      const read = { cert: cert.reveal(), key: key.reveal() };
      if (read.cert !== current?.cert || read.key !== current.key) current = checked(read, files);
    } catch (error) {
      if (current !== undefined) return current;
      const message = `the client certificate cannot be used: ${errorMessage(error)}`;
      throw Object.assign(new Error(message, { cause: error }), { code: CLIENT_CERTIFICATE });
    }
    return current;
  };
}

/** @throws {Error} */
function checked(pair: ClientPair, files: ClientPairFiles): ClientPair {
  const problem = pairProblem(pair, files);
  if (problem !== undefined) throw new Error(problem);
  return pair;
}

/** Returns why the two texts are not a certificate with its key; undefined if they are. */
export function pairProblem({ cert, key }: ClientPair, { certFile, keyFile }: ClientPairFiles): string | undefined {
  const certificate = parsed(() => new X509Certificate(cert));
  if (certificate === undefined) return `${certFile} has no certificate in PEM form`;
  const privateKey = parsed(() => createPrivateKey(key));
  if (privateKey === undefined) return `${keyFile} has no private key in PEM form, or it is encrypted`;
  if (certificate.checkPrivateKey(privateKey)) return undefined;
  return `the key in ${keyFile} does not match the certificate in ${certFile}`;
}

/** The error is not used, since it may quote the key. */
function parsed<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch {
    return undefined;
  }
}
