/** Splits a command line of an example as a shell does, up to a pipe, a redirection, or a comment. Without expansion. */
export function shellWords(line: string): string[] {
  const words: string[] = [];
  for (const [word] of line.matchAll(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g)) {
    if (/^[|<>#]/.test(word)) break;
    words.push(word.replace(/'([^']*)'|"([^"]*)"/g, (_quoted, single?: string, double?: string) => single ?? double!));
  }
  return words;
}
