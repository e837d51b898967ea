/**
 * Normalized reason of a failure: its status or error class, and the error text without everything that differs from one
 * failure to the next. Equal reasons mean the same fault. A reason is shown and compared; it is never a metric label.
 */
import { failureReason } from './reason.ts';
import { redact } from './redact.ts';
import { isIdentifier } from './workflow-label.ts';

/** Maximum length of the text part. The service's text is cut, so the end of a long text is not comparable. */
const LONGEST_TEXT = 80;
/** Maximum length of the input that is examined. */
const LONGEST_INPUT = 400;

/** Fields of a JSON error whose values describe the fault. */
const TELLING =
  /"(?:error|errors|message|msg|code|type|reason|title|detail|details|name|status)"\s*:\s*"((?:[^"\\]|\\.)*)/gi;

const MASKS: readonly (readonly [RegExp, string])[] = [
  // Names of exceptions and hosts stay; what a message quotes is the value of one request.
  // bounded: LONGEST_INPUT
  [/"(?:[^"\\]|\\.)*(?:"|$)|`[^`]*(?:`|$)|(?<!\w)'[^']*(?:'(?!\w)|$)|“[^”]*(?:”|$)/g, '…'],
  [/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi, '#'],
  [/\b0x[0-9a-f]+\b/gi, '#'],
];

/** Status or error class: `HTTP 503`, `timeout`, `no response`. */
function failureClass(status: number | undefined, error: string | undefined): string {
  const reason = failureReason(status, error);
  return reason === 'http' ? `HTTP ${status}` : classOf(reason);
}

/** Class of a reason as the log's counts name it. */
export function classOf(reason: string): string {
  return reason.replaceAll('_', ' ');
}

/** Returns the class, and the masked text if there is one: `HTTP 503: upstream # is unavailable`. */
export function incidentReason(status: number | undefined, error: string | undefined): string {
  const text = error === undefined ? '' : maskedText(error);
  const of = failureClass(status, error);
  return text === '' ? of : `${of}: ${text}`;
}

/** Returns a text with numbers, ids, quoted values and hexadecimal values masked. Masking it again changes nothing. */
export function maskedText(text: string): string {
  let masked = telling(redact(text, LONGEST_INPUT));
  for (const [pattern, mask] of MASKS) masked = masked.replace(pattern, mask);
  return masked
    .split(/\s+/)
    .filter((word) => word !== '')
    .map(maskedWord)
    .join(' ')
    .replace(/#(?:[.,:/+-]?#)+/g, '#')
    .slice(0, LONGEST_TEXT)
    .trim();
}

/** Returns what a JSON or HTML error says; other texts are returned unchanged. */
function telling(text: string): string {
  if (/^\s*[[{]/.test(text)) {
    const values = Array.from(text.matchAll(TELLING), ([, value]) => value!.replaceAll('\\"', '"').trim()).filter(
      (value) => value !== '',
    );
    if (values.length > 0) return [...new Set(values)].join(': ');
    return text.replace(/"([\w.-]{1,40})"\s*:/g, '$1:');
  }
  if (!/^\s*<(?:!doctype|html|head|body|h1|\?xml)/i.test(text)) return text;
  // bounded: LONGEST_INPUT
  return text.replace(/<(?:style|script)[^>]*>[^<]*(?:<\/\w+>|$)|<[^>]*(?:>|$)/gi, ' ');
}

function maskedWord(word: string): string {
  // bounded: LONGEST_INPUT
  const [, before, core, after] = /^([^\w#…]*)(.*?)([^\w#…]*)$/s.exec(word)!;
  return before! + maskedCore(core!) + after!;
}

function maskedCore(core: string): string {
  if (!/\d/.test(core)) return isIdentifier(core) ? '#' : core;
  if (isIdentifier(core) || /^[0-9a-f]{6,}$/i.test(core)) return '#';
  return core.replace(/[0-9a-f]{8,}/gi, (run) => (/\d/.test(run) ? '#' : run)).replace(/\d+/g, '#');
}
