/** Check of secret files during loading: without it, a daemon without its token would only fail later. */
import { readFileSync, statSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { pairProblem } from '#foundation/platform/client-pair.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { sealKeysOf } from '#foundation/platform/seal.ts';
import { credentialFault } from './check-addresses.ts';
import { unreadable } from './read-file.ts';
import { looksLikePath } from './secret-keys.ts';
import type { Fault } from './source-text.ts';
import { faultAt, textAt, type Place, type Words } from './yaml-place.ts';

/** Keys whose value is the path of a file with a secret. */
const SECRET_FILE = /^(?:token|actionToken|password|signingKeys|url|cert|key)File$/;

/** @param absolute makes a path of the configuration absolute */
export function checkSecretFiles(root: Place, absolute: (path: string) => string): Fault[] {
  const look = (place: Place): Fault[] => [
    ...[...(place.entries ?? [])].flatMap(([key, inner]) =>
      SECRET_FILE.test(key) ? checkFile(inner, absolute) : look(inner),
    ),
    ...checkPair(place, absolute),
    ...(place.items ?? []).flatMap(look),
  ];
  return look(root);
}

function checkFile(written: Place, absolute: (path: string) => string): Fault[] {
  const place = textAt(written);
  const complaint = place && complaintOf(absolute(place.value), place.path);
  if (place === undefined || complaint === undefined) return [];
  const where = isAbsolute(place.value) ? '' : 'the path is relative to the folder of this file; ';
  const advice = looksLikePath(place.value)
    ? `${where}opsd check --no-secrets skips such files`
    : 'write the path of a file, such as ./token, and put the secret into that file';
  return [faultAt(place, { help: advice, ...complaint })];
}

/** Checks that the files of a client certificate belong together. Missing files are reported on their own. */
function checkPair(place: Place, absolute: (path: string) => string): Fault[] {
  const [cert, key] = ['certFile', 'keyFile'].map((name) => place.entries?.get(name));
  if (typeof cert?.value !== 'string' || typeof key?.value !== 'string') return [];
  const files = { certFile: absolute(cert.value), keyFile: absolute(key.value) };
  try {
    const pair = { cert: readFileSync(files.certFile, 'utf8'), key: readFileSync(files.keyFile, 'utf8') };
    const message = pairProblem(pair, files);
    return message === undefined ? [] : [faultAt(key, { message })];
  } catch {
    return [];
  }
}

/** Name of a credential that an account sends. The files of listeners may have several, one on each line. */
function sentAs(path: readonly PropertyKey[]): string | undefined {
  const name = String(path.at(-1)).replace(/File$/, '');
  return path[0] === 'accounts' && name !== 'cert' && name !== 'key' ? name : undefined;
}

function bodyKeyFault(text: string): Words | undefined {
  try {
    sealKeysOf(text);
    return undefined;
  } catch (error) {
    return { message: errorMessage(error), help: 'write a key such as the output of: openssl rand -hex 32' };
  }
}

/** @param place of the path in the configuration */
function complaintOf(path: string, place: readonly PropertyKey[]): Words | undefined {
  const sent = sentAs(place);
  try {
    if (statSync(path).isDirectory()) {
      return { message: 'this is a folder', help: 'write the path of the file in it that contains the secret' };
    }
    const text = readFileSync(path, 'utf8').trim();
    if (text === '') return { message: 'the file is empty', help: 'write the secret into it' };
    if (place.at(-2) === 'bodies') return bodyKeyFault(text);
    const fault = sent === undefined ? undefined : credentialFault(sent, text);
    return fault === undefined ? undefined : { message: `the file contains ${fault}`, help: `keep one ${sent} in it` };
  } catch (error) {
    return { message: unreadable(error) };
  }
}
