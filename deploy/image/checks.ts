/** A check and its result. */

export interface Check {
  readonly what: string;
  /** Undefined when the check passed. */
  readonly wrong: string | undefined;
}

export function isWell({ wrong }: Check): boolean {
  return wrong === undefined;
}

/** @param seen the actual state, shown when the check fails */
export function expects(what: string, isAsExpected: boolean, seen: string): Check {
  return { what, wrong: isAsExpected ? undefined : seen.trim() };
}
