/** What was looked at, and what is wrong with it. */

export interface Check {
  readonly what: string;
  /** undefined: nothing. */
  readonly wrong: string | undefined;
}

export function isWell({ wrong }: Check): boolean {
  return wrong === undefined;
}

/** @param seen how it is, when it is not as it should be */
export function expects(what: string, isAsExpected: boolean, seen: string): Check {
  return { what, wrong: isAsExpected ? undefined : seen.trim() };
}
