/**
 * Matches a glob: `*` is any text, `?` one character, all others match themselves. The time is proportional to both
 * lengths for any glob.
 */
export function matchesGlob(glob: string, text: string): boolean {
  let at = 0;
  let globAt = 0;
  let star = -1;
  let retry = 0;
  while (at < text.length) {
    if (glob[globAt] === '*') {
      star = globAt++;
      retry = at;
    } else if (globAt < glob.length && (glob[globAt] === '?' || glob[globAt] === text[at])) {
      globAt += 1;
      at += 1;
    } else if (star >= 0) {
      globAt = star + 1;
      at = ++retry;
    } else {
      return false;
    }
  }
  while (glob[globAt] === '*') globAt += 1;
  return globAt === glob.length;
}
