/**
 * Label values that are safe to export. A URL becomes a host or a path template. Identifiers and personal addresses
 * become `:id`. No value has a query, user information or a line break. Cleaning a cleaned value does not change it.
 */
import { redact } from '#foundation/domain/redact.ts';
import { ownText } from '#foundation/platform/memo.ts';
import { isIdentifier, templateOf, workflowLabel } from '#foundation/domain/workflow-label.ts';

export const OTHER = 'other';

const LONGEST_VALUE = 200;

/** Returns a short, well-formed text without control characters, so that distinct labels stay distinct on the wire. */
export function cleanLabel(value: string): string {
  return (value.length > LONGEST_VALUE ? ownText(value.slice(0, LONGEST_VALUE)) : value)
    .toWellFormed()
    .replaceAll(/\p{Cc}/gu, ' ');
}

/** Host as in a URL, in lower case, with its port. A name has neither a dot nor a port. */
const HOST = /^(?=.*[.:])(?:\[[0-9a-f:.]+\]|[\d_a-z-]{1,63}(?:\.[\d_a-z-]{1,63})*\.?)(?::\d{1,5})?$/;

/** Returns the host of a URL, with its port if it is not the scheme's default, or the name of a queue or URL Group. */
export function destinationLabel(destination: string): string {
  if (destination.includes('://')) {
    const host = URL.parse(destination)?.host;
    return host === undefined || host === '' ? OTHER : cleanLabel(host);
  }
  return HOST.test(destination) ? cleanLabel(destination) : nameLabel(destination);
}

/** Returns the template of a workflow, from its URL or from the result of `workflowLabel`. */
export function workflowTemplate(workflow: string): string {
  if (workflow.includes('://')) return workflowLabel(workflow);
  const clean = cleanLabel(workflow);
  const [host = ''] = clean.split(/[/?#]/, 1);
  if (!/^[^@\s]*$/.test(host)) return OTHER;
  return host + templateOf(clean.slice(host.length).replace(/[?#].*/, ''));
}

/**
 * Wraps `clean` so that its result is stable: cleaning it again does not change it, even if a long value was truncated.
 * Returns `other` if no stable result is found.
 */
export function settled(clean: (raw: string) => string): (raw: string) => string {
  return (raw) => {
    let value = cleanLabel(clean(raw));
    for (let times = 0; times < 4; times += 1) {
      const again = cleanLabel(clean(value));
      if (again === value) return value;
      value = again;
    }
    return OTHER;
  };
}

const SEPARATOR = /([/:|;,\s]+)/;

/** Returns a user-defined name with its identifiers replaced by `:id`. */
export function nameLabel(name: string): string {
  if (name.includes('://')) return destinationLabel(name);
  const parts = cleanLabel(name).split(SEPARATOR);
  return redact(parts.map((part, index) => (index % 2 === 0 && isIdentifier(part) ? ':id' : part)).join(''));
}
