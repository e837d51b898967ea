/**
 * Collects the garbage of a start at once. Restoring a million entries leaves hundreds of megabytes of garbage, and
 * with such a large heap the next regular collection is far away.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

export function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options: object) => void;
  setFlagsFromString('--no-expose-gc');
  collect({ execution: 'sync', flavor: 'last-resort' });
}
