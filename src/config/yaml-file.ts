/** Strict reader of one YAML file: version 1.2, the core schema, one document. Every fault has a plain message. */
import { type Document, isCollection, isPair, isScalar, parseDocument, type YAMLError } from 'yaml';
import type { ConfigProblem } from './problem.ts';
import type { ReadResult } from './read-file.ts';
import { isSecretInsteadOfPath, isSecretKey } from './secret-keys.ts';
import { type Fault, SourceText } from './source-text.ts';
import { type Place, PlaceReader, type WalkOptions } from './yaml-place.ts';

export interface YamlFile {
  readonly source: SourceText;
  /** Undefined if nothing could be read. */
  readonly root: Place | undefined;
  readonly faults: readonly Fault[];
  /**
   * Offset of the first syntax error; Infinity in a valid file. Everything before it is as written; everything after it
   * is unreliable.
   */
  readonly brokenAt: number;
}

export function readYaml(options: WalkOptions): YamlFile {
  const { source } = options;
  const nothing = { source, root: undefined, brokenAt: 0 };
  let document: Document.Parsed;
  let reader: PlaceReader;
  let root: Place;
  try {
    document = parseDocument(source.text, {
      version: '1.2',
      schema: 'core',
      strict: true,
      stringKeys: true,
      // The reader reports duplicates, with the place of the first one.
      uniqueKeys: false,
      prettyErrors: false,
    });
    reader = new PlaceReader(options);
    root = reader.read(document.contents, []);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { ...nothing, faults: [fault(0, 'lists or mappings are nested too deeply')] };
  }
  // All other faults of such a file are irrelevant.
  if (reader.exploded !== undefined) return { ...nothing, faults: [reader.exploded] };
  const syntax = syntaxFaults(document, source.text);
  const faults = [...syntax, ...document.warnings.map(unsupported), ...reader.faults];
  if (syntax.length > 0) maskByLine(source);
  if (faults.length === 0 && root.value === null) {
    return { ...nothing, faults: [fault(0, 'the file is empty', 'see config.example.yaml')] };
  }
  const brokenAt = Math.min(...syntax.map((found) => found.start));
  return { source, root, faults, brokenAt };
}

/** Values of a text of which no line is shown: the search for its secrets, 3 ms of a command, is left out. */
export function readPlaces(text: string, options: Omit<WalkOptions, 'source'>): Place | undefined {
  return readYaml({ ...options, source: new SourceText('', text, false) }).root;
}

/** Syntax and schema problems, in the order of the file. After a syntax error, schema problems are unreliable. */
export function problemsOf(yaml: YamlFile, faults: readonly Fault[]): ConfigProblem[] {
  const { source, brokenAt } = yaml;
  const isSound = brokenAt === Infinity;
  const lastSure = isSound ? Infinity : source.text.lastIndexOf('\n', brokenAt - 1);
  const sure = faults.filter((fault) => isSound || (fault.until ?? fault.end) <= lastSure);
  for (const { hidden } of sure) if (hidden !== undefined) source.mask(hidden.start, hidden.end);
  return [...yaml.faults, ...sure].sort((a, b) => a.start - b.start).map((fault) => source.problem(fault));
}

export function unreadProblem(read: Extract<ReadResult, { ok: false }>): ConfigProblem {
  const { source, offset, message, help } = read;
  return source.problem({ start: offset, end: offset + 1, path: '', message, help });
}

/**
 * Masks lines by their text. A broken file has no reliable keys, so any line that looks like a secret is masked after
 * its colon.
 */
function maskByLine(source: SourceText): void {
  for (const match of source.text.matchAll(/(["']?)([\w-]{1,64})\1[ \t]{0,64}:[ \t]*/g)) {
    const start = match.index + match[0].length;
    const newline = source.text.indexOf('\n', start);
    const end = newline === -1 ? source.text.length : newline;
    const [key, value] = [match[2]!, source.text.slice(start, end).trim()];
    if (isSecretKey(key) || isSecretInsteadOfPath(key, value)) source.mask(start, end);
  }
}

/** Maximum number of reported errors. */
const MOST_ERRORS = 50;

function syntaxFaults(document: Document.Parsed, text: string): Fault[] {
  const seen = new Set<number>();
  const faults: Fault[] = [];
  for (const error of document.errors.slice(0, MOST_ERRORS)) {
    if (isEcho(error, document)) continue;
    const found = explain(error, document, text);
    // One mistake breaks much of its line, so only the first error of a line counts.
    const line = text.lastIndexOf('\n', found.start - 1);
    if (!seen.has(line)) faults.push(found);
    seen.add(line);
    // After this error the parser rejects everything else.
    if (error.code === 'UNEXPECTED_TOKEN') break;
  }
  return faults;
}

type Words = readonly [message: string, help?: string];

/** Messages for parser errors. The parser's own ones quote the text, which may be a secret. */
const WORDS: Readonly<Partial<Record<YAMLError['code'], Words>>> = {
  ALIAS_PROPS: ['an alias cannot have an anchor or a tag', 'remove the & or ! before the *'],
  BAD_ALIAS: ['invalid alias name', 'if the text begins with *, put it in quotes'],
  BAD_COLLECTION_TYPE: ['tags are not supported here', 'remove the word that begins with !'],
  BAD_DIRECTIVE: ['unknown directive: a line that begins with % is a directive', 'remove it'],
  BAD_DQ_ESCAPE: ['unknown escape in double quotes', 'write two backslashes, or use single quotes'],
  BAD_INDENT: [
    'the indentation is inconsistent',
    'start all keys of a mapping in the same column, and indent the content of a key further',
  ],
  BAD_PROP_ORDER: ['anchors and tags must be before the value', 'move the & or ! after the colon'],
  BAD_SCALAR_START: ['a text cannot begin with this character', 'put the text in quotes'],
  BLOCK_AS_IMPLICIT_KEY: [
    'a mapping inside a value',
    'put a text with ": " in quotes, or start the keys of a mapping on the next line, indented',
  ],
  BLOCK_IN_FLOW: ['a block inside braces or brackets', 'write everything in braces, or everything indented'],
  KEY_OVER_1024_CHARS: ['a key of more than 1024 characters', 'check for a missing quote'],
  MISSING_CHAR: ['a character is missing here', 'write a colon and a space after a key, or a comma after an item'],
  MULTILINE_IMPLICIT_KEY: [
    'a line without a colon',
    'write key: value, or indent the line if it continues the text above',
  ],
  MULTIPLE_ANCHORS: ['a value can only have one anchor', 'remove all but one of the words that begin with &'],
  MULTIPLE_DOCS: ['a second document begins here', 'a file must have one document; remove the line ---'],
  MULTIPLE_TAGS: ['tags are not supported here', 'remove the words that begin with !'],
  NON_STRING_KEY: ['a key must be plain text', 'render the template, or put a text that begins with a brace in quotes'],
  RESOURCE_EXHAUSTION: ['lists or mappings are nested too deeply', 'reduce the nesting'],
  TAB_AS_INDENT: ['a tab in the indentation', 'indent with spaces; YAML does not allow tabs'],
  TAG_RESOLVE_FAILED: ['tags are not supported here', 'remove the word that begins with !'],
  UNEXPECTED_TOKEN: [
    'unexpected text',
    'write each key on its own line, and start all keys of a mapping in the same column',
  ],
};

function explain(error: YAMLError, document: Document.Parsed, text: string): Fault {
  const [start, end] = error.pos;
  const opening =
    error.code === 'MISSING_CHAR' || error.code === 'BAD_INDENT' ? openedBefore(document, text, start) : undefined;
  if (opening !== undefined) {
    const [open, close] = opening.pair;
    return fault(opening.at, `the ${open} opened here is not closed`, `write the closing ${close}`);
  }
  if (error.code === 'UNEXPECTED_TOKEN' && text.slice(start - 1, start + 1) === '${') {
    return fault(start - 1, 'this needs quotes inside braces or brackets', 'write "${env:NAME}" with the quotes');
  }
  const tooDeep = error.code === 'BLOCK_AS_IMPLICIT_KEY' ? lineTakenAsValue(error, document, text) : undefined;
  if (tooDeep !== undefined) {
    return fault(
      tooDeep,
      'this line is indented further than the one above, which already has a value',
      'start it in the column of the line above',
    );
  }
  // The parser's message about a misplaced list item names a hyphen.
  const isIndent = error.message.startsWith('Sequence item without');
  const [message, help] = WORDS[isIndent ? 'BAD_INDENT' : error.code] ?? ['invalid YAML'];
  const at = Math.min(start + /^ */.exec(text.slice(start))![0].length, text.trimEnd().length);
  const width = error.code === 'MULTIPLE_DOCS' ? 3 : Math.min(end - start, 20);
  return { ...fault(at, message, help), end: at + Math.max(1, width) };
}

/** Offset of a line that is indented too far, which the parser reads as a continuation of the value above. */
function lineTakenAsValue(error: YAMLError, document: Document.Parsed, text: string): number | undefined {
  const whole = document.errors.find((other) => other.code === 'MULTILINE_IMPLICIT_KEY' && sameStart(other, error));
  if (whole === undefined) return undefined;
  const line = text.lastIndexOf('\n', whole.pos[1] - 1) + 1;
  return line + /^ */.exec(text.slice(line))![0].length;
}

/** Returns true for the parser's second error about such a line. */
function isEcho(error: YAMLError, document: Document.Parsed): boolean {
  if (error.code !== 'MULTILINE_IMPLICIT_KEY') return false;
  return document.errors.some((other) => other.code === 'BLOCK_AS_IMPLICIT_KEY' && sameStart(other, error));
}

function sameStart(a: YAMLError, b: YAMLError): boolean {
  return a.pos[0] === b.pos[0];
}

const CLOSING: Readonly<Record<string, string>> = { '"': '"', "'": "'", '{': '}', '[': ']' };

/** Last quote or bracket before `offset` that is never closed. */
function openedBefore(
  document: Document.Parsed,
  text: string,
  offset: number,
): { readonly at: number; readonly pair: readonly [string, string] } | undefined {
  let found: { at: number; pair: readonly [string, string] } | undefined;
  // The library's `visit` copies the path to each node, which takes a second for thousands of levels of keys.
  const left: unknown[] = [document.contents];
  while (left.length > 0) {
    const node = left.pop();
    if (isPair(node)) left.push(node.key, node.value);
    if (!isScalar(node) && !isCollection(node)) continue;
    if (isCollection(node)) for (const item of node.items) left.push(item);
    const [start, end] = node.range ?? [0, 0];
    const opening = text[start] ?? '';
    const closing = CLOSING[opening];
    if (closing === undefined || start >= offset) continue;
    const closed = end - 1 > start && text[end - 1] === closing;
    if (!closed && start >= (found?.at ?? 0)) found = { at: start, pair: [opening, closing] };
  }
  return found;
}

function unsupported(warning: YAMLError): Fault {
  const [start, end] = warning.pos;
  const [message, help] = WORDS[warning.code] ?? ['this is not supported'];
  return { ...fault(start, message, help), end: Math.max(end, start + 1) };
}

function fault(start: number, message: string, help?: string): Fault {
  return { start, end: start + 1, path: '', message, help };
}
