/**
 * Puts a canary into the input of every output of the process: none must leak, and the facts that an operator needs
 * must remain.
 */
import { expect, test } from 'vitest';
import { errorText } from '#automate/actions/failed-call.ts';
import { printable, textTable, writeData } from '#cli/output.ts';
import { statusError } from '#service/classify.ts';
import { SourceText } from '#config/source-text.ts';
import { formatProblems } from '#config/problem.ts';
import { haltKey } from '#automate/ledger/shown-group.ts';
import { nameLabel } from '#observe/metrics/labels.ts';
import { storableUrl } from '#observe/aggregation/destination.ts';
import { sealRecord } from '#automate/ledger/audit-chain.ts';
import { deliver } from '#operate/notifications/receiver.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { EventBus } from '#foundation/events/events.ts';
import type { HttpPost } from '#foundation/platform/http-post.ts';
import { createLogger } from '#foundation/platform/logger.ts';
import { Secret } from '#foundation/platform/secret.ts';
import { maskedJson } from '#service/mask-secrets.ts';
import { redact } from '#foundation/domain/redact.ts';
import { html } from '#foundation/markup/html.ts';
import { errorReply, HttpError, json, textReply, type Reply } from '#operate/http/reply.ts';

const CANARY = 'cAnArY9f31';
const LEAKS: readonly string[] = [
  `https://ops:${CANARY}@db.example/x`,
  `https://db.example/x?token=${CANARY}&sig=${CANARY}`,
  `db.example said Authorization: Bearer ${CANARY}`,
  `db.example said {"password":"${CANARY}"}`,
  encodeURIComponent(`https://ops:${CANARY}@db.example/x`),
];

type Exit = (leak: string) => string | Promise<string>;

const place = { operation: 'get-log', method: 'GET', url: 'https://a.example/v2/logs', hidden: [] };

/** Returns the log output of a value. */
const logged: Exit = (leak) => {
  let lines = '';
  const logger = createLogger({ level: 'info', destination: { write: (line) => (lines += line) } });
  const err = new Error('outer', { cause: new Error(leak) });
  logger.child({ from: leak }).info({ err, deep: [{ leak }], headers: { 'x-api-key': CANARY } }, leak);
  return lines;
};

const posted: Exit = async (leak) => {
  let body = '';
  const post: HttpPost = {
    send(_url, message) {
      body = Buffer.from(message.body).toString();
      return Promise.resolve({ status: 200, contentType: '', body: Buffer.alloc(0) });
    },
    [Symbol.dispose]: () => undefined,
  };
  const receiver = { name: 'webhook', url: Secret.of('http://hook.example/'), headers: {} };
  const { signal } = new AbortController();
  await deliver(receiver, { summary: leak, labels: { detail: leak } }, { post, events: new EventBus(), signal });
  return body;
};

const printed: Exit = async (leak) => {
  let out = '';
  const io = { stdout: { write: (part: string) => (out += part) } } as unknown as Parameters<typeof writeData>[0];
  await writeData(io, 'json', { leak, deep: [{ leak }] });
  await writeData(io, 'yaml', { leak });
  return out + printable(leak) + textTable(['a'], [[leak]]);
};

const excerpt: Exit = (leak) => {
  const source = new SourceText('opsd.yaml', `note: ${leak}`);
  const fault = { start: 0, end: 4, path: 'note', message: `not ${leak}`, help: `write ${leak}` };
  return formatProblems([source.problem(fault)]);
};

const bodyOf = ({ body }: Reply): string => (typeof body === 'string' ? body : '');

const EXITS: Readonly<Record<string, Exit>> = {
  'a message of an error': (leak) => errorMessage(new Error(leak)),
  'the outcome of an action': (leak) => errorText(new Error(leak)),
  'an error of the service': (leak) => statusError(place, 500, leak, undefined).message,
  'a log line': logged,
  'an answer of the API': (leak) => bodyOf(json(200, { leak, deep: [{ leak }] })),
  'an answer in plain text': (leak) => bodyOf(textReply(200, leak)),
  'a refusal': (leak) => bodyOf(errorReply('/api/v1/x', new HttpError(404, 'not_found', leak))),
  'a page': (leak) => html`<p title="${leak}">${[leak]}</p>`.toString(),
  'a notification': posted,
  'an audit record': (leak) =>
    sealRecord({ type: 'x', reason: leak }, { time: '', store: '', opening: 1, after: undefined }).line,
  'the key of a condition': (leak) => haltKey('p', leak),
  'the output of a command': printed,
  'an excerpt of a configuration': excerpt,
};

test.each(Object.entries(EXITS))('%s has no canary, and names the host', async (_name, exit) => {
  for (const leak of LEAKS) {
    const shown = await exit(leak);
    expect(shown).not.toContain(CANARY);
    // In an excerpt, and in a URL of a label, the hidden part may be the whole value.
    if (exit !== excerpt) expect(shown).toContain('db.example');
  }
});

/** Credentials of other accounts and receivers, echoed by a service without a name that reveals them. */
const KNOWN = 'qK9/2+sL"7é-vX4m';
Secret.of(KNOWN);
Secret.of('postgres://opsd:dB_pw%2F81x@db.internal/opsd');
Secret.of('Basic b3BzOnh5eno5ODc=');
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const ECHOES: readonly (readonly [string, string])[] = [
  ['plain', KNOWN],
  ['in JSON', JSON.stringify({ said: KNOWN })],
  ['in JSON twice', JSON.stringify({ said: JSON.stringify({ said: KNOWN }) })],
  ['percent-encoded', encodeURIComponent(KNOWN)],
  ['percent-encoded twice', encodeURIComponent(encodeURIComponent(KNOWN))],
  ...['', 'u', 'us', 'ops:'].map((user) => [`in base64 after ${user}`, base64(`${user}${KNOWN}`)] as const),
  ['in base64 for URLs', Buffer.from(`ops:${KNOWN}`).toString('base64url')],
  ['a password of a URL', 'dB_pw/81x'],
  ['a password of a URL, encoded', 'dB_pw%2F81x'],
  ['a header', 'b3BzOnh5eno5ODc='],
];

test.each(ECHOES)('nothing shows a known credential: %s', async (_how, echo) => {
  const inner = echo.slice(4, 12);
  for (const [name, exit] of Object.entries(EXITS)) {
    // The key of a JSON echo is no secret, so the last part is compared.
    for (const text of [`db.example said <${echo}>`, `xx${echo}`]) {
      const shown = await exit(text);
      const part = echo.startsWith('{') ? echo.slice(-14, -6) : inner;
      expect(shown, name).not.toContain(part);
    }
  }
});

test('a body of a rotation shows its new token in no field', () => {
  const body = Buffer.from('{"token":"nEw-t0ken-93x","note":"use nEw-t0ken-93x now","id":"1"}');
  expect(maskedJson(body).toString()).toBe('{"token":"[secret]","note":"use [secret] now","id":"1"}');
});

test('a word is not masked because someone has it as a password', () => {
  Secret.of('production');
  expect(redact('account production')).toBe('account production');
});

test('a label, a span and a delivery line have no canary', () => {
  for (const leak of LEAKS) {
    expect(nameLabel(leak)).not.toContain(CANARY);
    expect(storableUrl(leak) ?? '').not.toContain(CANARY);
  }
});
