/** Faults of the path and the rest of the request line. */
import { always, when, type Spoiler } from './draft.ts';
import type { FuzzOperation } from './operations.ts';

const hasPath = ({ path }: FuzzOperation): boolean => path.includes('{');
const BAD_ENCODING = ['%', '%zz', '%ff', '%f', '%C3%28', 'a%E0%A4%A'];

/** Names of a group, an account, an index or a key that does not exist, and empty names. */
const ODD_SEGMENTS = [
  '',
  '..',
  '.',
  '%2e%2e%2f',
  '%00',
  'n'.repeat(3_000),
  'n'.repeat(8_000),
  '\u0001',
  'a b',
  '\u00e9',
  '?',
  '#',
];
/** Valid names of a group. */
const ODD_NAMES = ['__proto__', 'constructor', 'toString'];

const WRONG_DESTINATIONS = [
  'http://',
  'https:///',
  'http://[',
  'http://x:99999/',
  'ftp://x/',
  'http://a:b@c/',
  'http%3A%2F%2F%zz',
  'http://\u00e9/',
  'no-such-group',
  'http://x y/',
];

export const PATH_SPOILERS: readonly Spoiler[] = [
  when(hasPath, (draft) => {
    const name = draft.pick([...draft.path.keys()]);
    const wrong = draft.pick([...ODD_SEGMENTS, ...ODD_NAMES]);
    if (draft.pathIsBad) return;
    draft.path.set(name, wrong);
    // A key, a host or an id of the control API may be any text.
    const fine = draft.operation.api === 'control' || (name === 'urlGroupName' && ODD_NAMES.includes(wrong));
    if (fine) draft.change(`path ${JSON.stringify(wrong)}`);
    else draft.refuse(`path ${JSON.stringify(wrong)}`);
  }),
  when(hasPath, (draft) => {
    const name = draft.pick([...draft.path.keys()]);
    draft.path.set(name, draft.pick(BAD_ENCODING));
    draft.pathIsBad = true;
    draft.refuse(`percent-encoding of ${name}`, [name]);
  }),
  when(always, (draft) => {
    const wrong = draft.pick([...BAD_ENCODING, 'x'.repeat(5_000), '%00', '__proto__']);
    const at = draft.random();
    draft.refuse('a segment that no path has', ['is not a path']).spoilPath = (path) => {
      const fixed = path.split('/').slice(0, 3);
      fixed.splice(1 + Math.floor(at * (fixed.length - 1)), 1, wrong);
      return [...fixed, ...path.split('/').slice(3)].join('/');
    };
    // The rest of a path may match another operation, which then returns its own error.
    draft.where = undefined;
  }),
  when(
    ({ takesRest }) => takesRest,
    (draft) => {
      const name = draft.pick([...draft.path.keys()]);
      const wrong = draft.pick(WRONG_DESTINATIONS);
      draft.refuse(`destination ${wrong}`, [name, 'URL Group', 'HTTP']).path.set(name, wrong);
    },
  ),
  when(always, (draft) => {
    draft.method = draft.pick(['PUT', 'OPTIONS', 'TRACE', 'LINK', 'get', 'NONSENSE', 'G\u0000T', 'CONNECT', '']);
    draft.refuse(`method ${draft.method}`);
  }),
  when(always, (draft) => {
    draft.version = draft.pick(['HTTP/9.9', 'HTTP/1.', 'http/1.1', '', 'HTTP/1.1 x', 'HTTP/2.0']);
    draft.refuse(`version ${draft.version}`);
  }),
  when(always, (draft) => {
    // Another change may add one: see `checkPartners`.
    draft.host = false;
    draft.change('no host', ['Host']);
  }),
];
