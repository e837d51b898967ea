/** Finds the nearest of several words, for suggestions. */

/** Returns the candidate that `word` most likely means; undefined if none is near. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const plain = fold(word);
  let best: string | undefined;
  let least = Infinity;
  for (const candidate of candidates) {
    const distance = editDistance(plain, fold(candidate));
    const allowed = Math.max(1, Math.floor(Math.min(plain.length, candidate.length) / 3));
    if (distance <= allowed && distance < least) {
      best = candidate;
      least = distance;
    }
  }
  if (best !== undefined || plain.length < SHORTEST_PART) return best;
  const longer = [...candidates].filter((candidate) => fold(candidate).endsWith(plain));
  return longer.length === 1 ? longer[0] : undefined;
}

/** Returns `; did you mean NAME?`, or an empty text if no candidate is near. @param prefix text before the name: `--` */
export function suggestion(word: string, candidates: Iterable<string>, prefix = ''): string {
  const meant = nearest(word, candidates);
  return meant === undefined ? '' : `; did you mean ${prefix}${meant}?`;
}

/** Returns `did you mean NAME?`, or another help if no candidate is near. */
export function suggestionOr(help: string, word: string, candidates: Iterable<string>): string {
  const meant = nearest(word, candidates);
  return meant === undefined ? help : `did you mean ${meant}?`;
}

/** Minimum length of a word that may be the end of a longer one: `label` for `anyLabel`. */
const SHORTEST_PART = 4;

/** Normalizes a word: `token_file`, `token-file` and `TokenFile` are equal. */
function fold(word: string): string {
  return word.replace(/[-_\s]/g, '').toLowerCase();
}

/** Returns the number of letters that were added, removed, changed, or swapped with their neighbor. */
export function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = a[i - 1] === b[j - 1] ? 0 : 1;
      let cost = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + change);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, beforeLast[j - 2]! + 1);
      }
      row.push(cost);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length]!;
}

const LONGEST_NAME = 200;

export function unknownPolicy(name: string, known: readonly string[]): string {
  const meant = nearest(name, known);
  const there = known.length === 0 ? 'No policy is configured.' : `Policies: ${known.join(', ')}.`;
  const hint = meant === undefined ? '' : `Did you mean ${meant}? `;
  return `There is no policy named ${name.slice(0, LONGEST_NAME)}. ${hint}${there}`;
}
