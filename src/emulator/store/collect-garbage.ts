/**
 * The garbage of a start, taken away at once: putting back a million entries leaves hundreds of megabytes behind, and
 * a collector whose heap is that large does not come for long.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

export function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options: object) => void;
  setFlagsFromString('--no-expose-gc');
  collect({ execution: 'sync', flavor: 'last-resort' });
}
