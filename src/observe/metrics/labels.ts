/**
 * Label values as they may be shown: a URL becomes a host or a path template, identifiers and addresses of people
 * become `:id`, and nothing has a query, user information or a line break. What was cleaned once stays as it is.
 */
import { redact } from '#foundation/domain/redact.ts';
import { ownText } from '#foundation/platform/own-text.ts';
import { isIdentifier, templateOf, workflowLabel } from '#foundation/domain/workflow-label.ts';

export const OTHER = 'other';

const LONGEST_VALUE = 200;

/** Short, well-formed and without control characters, so that what is admitted here is one value on the wire too. */
export function cleanLabel(value: string): string {
  return (value.length > LONGEST_VALUE ? ownText(value.slice(0, LONGEST_VALUE)) : value)
    .toWellFormed()
    .replaceAll(/\p{Cc}/gu, ' ');
}

/** A host as a URL has it, in lower case, with its port. A name has neither dot nor port. */
const HOST = /^(?=.*[.:])(?:\[[0-9a-f:.]+\]|[\d_a-z-]{1,63}(?:\.[\d_a-z-]{1,63})*\.?)(?::\d{1,5})?$/;

/** The host of a URL, port included where it is not the scheme's own; the name of a queue or URL Group. */
export function destinationLabel(destination: string): string {
  if (destination.includes('://')) {
    const host = URL.parse(destination)?.host;
    return host === undefined || host === '' ? OTHER : cleanLabel(host);
  }
  return HOST.test(destination) ? cleanLabel(destination) : nameLabel(destination);
}

/** A workflow by its URL, or by what `workflowLabel` made of it. */
export function workflowTemplate(workflow: string): string {
  if (workflow.includes('://')) return workflowLabel(workflow);
  const [host] = cleanLabel(workflow).split(/[/?#]/, 1);
  if (host === undefined || !/^[^@\s]*$/.test(host)) return OTHER;
  return (
    host +
    templateOf(
      cleanLabel(workflow)
        .slice(host.length)
        .replace(/[?#].*/, ''),
    )
  );
}

/**
 * As `clean`, made such that what was cleaned once stays as it is, also where the end of a long value was cut off;
 * `other` when there is no end to it.
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

/** A name that somebody gave: parts of it that are identifiers become `:id`. */
export function nameLabel(name: string): string {
  if (name.includes('://')) return destinationLabel(name);
  const parts = cleanLabel(name).split(SEPARATOR);
  return redact(parts.map((part, index) => (index % 2 === 0 && isIdentifier(part) ? ':id' : part)).join(''));
}
