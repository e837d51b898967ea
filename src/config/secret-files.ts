/** Check of secret files during loading: without it, a daemon without its token would only fail later. */
import { readFileSync, statSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { pairProblem } from '#foundation/platform/client-pair.ts';
import { credentialFault } from './check-addresses.ts';
import { unreadable } from './read-file.ts';
import { looksLikePath } from './secret-keys.ts';
import type { Fault } from './source-text.ts';
import { type Place, pathText } from './yaml-place.ts';

/** Keys whose value is the path of a file with a secret. */
const SECRET_FILE = /^(?:token|actionToken|password|signingKeys|url|cert|key)File$/;

/** @param absolute makes a path of the configuration absolute */
export function checkSecretFiles(root: Place, absolute: (path: string) => string): Fault[] {
  const faults: Fault[] = [];
  const look = (place: Place, path: readonly PropertyKey[]): void => {
    for (const [key, inner] of place.entries ?? []) {
      if (SECRET_FILE.test(key)) faults.push(...checkFile(inner, [...path, key], absolute));
      else look(inner, [...path, key]);
    }
    faults.push(...checkPair(place, path, absolute));
    for (const [index, inner] of (place.items ?? []).entries()) look(inner, [...path, index]);
  };
  look(root, []);
  return faults;
}

function checkFile(place: Place, path: readonly PropertyKey[], absolute: (path: string) => string): Fault[] {
  if (typeof place.value !== 'string' || place.value === '' || place.spoilt) return [];
  const complaint = complaintOf(absolute(place.value), sentAs(path));
  if (complaint === undefined) return [];
  const where = isAbsolute(place.value) ? '' : 'the path is relative to the folder of this file; ';
  const advice = looksLikePath(place.value)
    ? `${where}opsd check --no-secrets skips such files`
    : 'write the path of a file, such as ./token, and put the secret into that file';
  const help = complaint.help ?? advice;
  return [{ start: place.start, end: place.end, path: pathText(path), message: complaint.message, help }];
}

/** Checks that the files of a client certificate belong together. Missing files are reported on their own. */
function checkPair(place: Place, path: readonly PropertyKey[], absolute: (path: string) => string): Fault[] {
  const [cert, key] = ['certFile', 'keyFile'].map((name) => place.entries?.get(name));
  if (typeof cert?.value !== 'string' || typeof key?.value !== 'string') return [];
  const files = { certFile: absolute(cert.value), keyFile: absolute(key.value) };
  try {
    const pair = { cert: readFileSync(files.certFile, 'utf8'), key: readFileSync(files.keyFile, 'utf8') };
    const message = pairProblem(pair, files);
    if (message === undefined) return [];
    return [{ start: key.start, end: key.end, path: pathText([...path, 'keyFile']), message }];
  } catch {
    return [];
  }
}

/** Name of a credential that an account sends. The files of listeners may have several, one on each line. */
function sentAs(path: readonly PropertyKey[]): string | undefined {
  const name = String(path.at(-1)).replace(/File$/, '');
  return path[0] === 'accounts' && name !== 'cert' && name !== 'key' ? name : undefined;
}

/** @param sent name of the credential in the file, if it is sent */
function complaintOf(
  path: string,
  sent: string | undefined,
): { readonly message: string; readonly help?: string } | undefined {
  try {
    if (statSync(path).isDirectory()) {
      return { message: 'this is a folder', help: 'write the path of the file in it that contains the secret' };
    }
    const text = readFileSync(path, 'utf8').trim();
    if (text === '') return { message: 'the file is empty', help: 'write the secret into it' };
    const fault = sent === undefined ? undefined : credentialFault(sent, text);
    return fault === undefined ? undefined : { message: `the file contains ${fault}`, help: `keep one ${sent} in it` };
  } catch (error) {
    return { message: unreadable(error) };
  }
}
