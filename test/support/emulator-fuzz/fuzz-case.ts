/**
 * Malformed requests for every operation. A case depends only on its seed, so that failures are reproducible.
 * Consecutive seeds use consecutive operations.
 */
import { seededRandom } from '#foundation/platform/random.ts';
import { Draft, type Credentials } from './draft.ts';
import { OPERATIONS } from './operations.ts';
import { bytesOf } from './request-bytes.ts';
import { BODY_SPOILERS } from './spoil-body.ts';
import { checkPartners, HEADER_SPOILERS } from './spoil-headers.ts';
import { PATH_SPOILERS } from './spoil-path.ts';
import { QUERY_SPOILERS } from './spoil-query.ts';

export interface FuzzCase {
  readonly seed: number;
  readonly operation: string;
  /** Changes of a valid request. */
  readonly changes: readonly string[];
  /** True if it must be rejected; otherwise the service may accept or reject it. */
  readonly bad: boolean;
  /** Names of which an error must contain one; undefined when the place of the fault is ambiguous. */
  readonly where: readonly string[] | undefined;
  readonly bytes: Buffer;
  /** True if the client closes its side after the bytes, as an aborted client does. */
  readonly cut: boolean;
}

const SPOILERS = [...QUERY_SPOILERS, ...HEADER_SPOILERS, ...PATH_SPOILERS, ...BODY_SPOILERS];
const MOST_CHANGES = 3;

export function fuzzCase(seed: number, credentials: Credentials): FuzzCase {
  const operation = OPERATIONS[seed % OPERATIONS.length]!;
  const draft = new Draft(operation, seededRandom(seed), credentials);
  const spoilers = SPOILERS.filter((spoiler) => spoiler.fits(operation));
  const count = 1 + Math.floor(draft.random() * MOST_CHANGES);
  for (let index = 0; index < count; index++) draft.pick(spoilers).spoil(draft);
  checkPartners(draft);
  return caseOf(draft, seed);
}

/** Builds a valid request of the operation. */
export function goodCase(name: string, credentials: Credentials): FuzzCase {
  const operation = OPERATIONS.find((one) => one.name === name)!;
  return caseOf(new Draft(operation, seededRandom(1), credentials), 0);
}

function caseOf(draft: Draft, seed: number): FuzzCase {
  const { operation, changes, bad, where, framing } = draft;
  // Besides any other fault, the service may first report that the resource does not exist.
  const ids = operation.takesRest ? [] : draft.path.values();
  return {
    seed,
    operation: operation.name,
    changes,
    bad,
    where: where && [...where, ...ids],
    bytes: bytesOf(draft),
    cut: framing === 'truncated' || framing === 'chunks-cut',
  };
}
