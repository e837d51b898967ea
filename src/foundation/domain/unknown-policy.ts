/** Returns the error for an unknown policy name. A stop command with a typo must not look successful. */
import { nearest } from './suggest.ts';

const LONGEST_NAME = 200;

export function unknownPolicy(name: string, known: readonly string[]): string {
  const meant = nearest(name, known);
  const there = known.length === 0 ? 'No policy is configured.' : `Policies: ${known.join(', ')}.`;
  const hint = meant === undefined ? '' : `Did you mean ${meant}? `;
  return `There is no policy named ${name.slice(0, LONGEST_NAME)}. ${hint}${there}`;
}
