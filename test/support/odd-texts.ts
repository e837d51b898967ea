const SIGNS = ' |,|a,b|a,|&|a&dlqIds=b|a&count=100|a=b|?|#|%|%2C|%00|..|../../v2/dlq|/|[]|null|dlq_1795165200000-0';

/** Texts that change the meaning of a request if they are not escaped, or that look empty. */
export const ODD_TEXTS: readonly string[] = SIGNS.split('|').concat(
  '',
  '\t',
  '\u00a0',
  '\0',
  'a\r\nX-Other: 1',
  '\ud800',
  '\u202e',
  'x'.repeat(5_000),
);
