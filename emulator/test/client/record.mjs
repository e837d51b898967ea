/**
 * Records what a public client of such a service sends, with neutral names, for client.test.ts.
 *
 * node emulator/test/client/record.mjs ISSUER CLIENT [WORKFLOW_CLIENT]
 *
 * ISSUER is the issuer that the client expects in signatures. CLIENT and WORKFLOW_CLIENT are folders of installed
 * packages. Each `call` of calls.jsonl is evaluated with `client`, `workflow`, `receiver`, and values of the emulator, against an emulator that has
 * the names of the client: the prefix is that of the headers that it sends. The recorded request and the status replace those
 * of the file. Words of the packages' names, and the prefix, are replaced by `acme`. `reads` are the fields that the
 * client returns from the response.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { compileFunction } from 'node:vm';
import { preparedEmulator } from './prepared.ts';

const FILE = new URL('calls.jsonl', import.meta.url);
/** Headers of the connection and of the runtime. */
const LEFT_OUT = /^(?:host|connection|content-length|user-agent|accept|accept-.*|sec-.*|authorization)$/;

const [issuer, ...folders] = process.argv.slice(2);
const packages = folders.map((folder) => createRequire(import.meta.url)(resolve(folder)));
const words = folders.flatMap((folder) => JSON.parse(readFileSync(resolve(folder, 'package.json'))).name.match(/\w+/g));

/** Passes requests on to the emulator, and keeps them. */
const sent = [];
let target;
const recorder = createServer((incoming, response) => {
  passOn(incoming, response).catch((error) => response.destroy(error));
});
async function passOn(incoming, response) {
  const body = await buffer(incoming);
  const { method, url, headers } = incoming;
  const exchange = { method, path: url, headers, body: body.toString() };
  sent.push(exchange);
  if (target === undefined) {
    response.end('{}');
    return;
  }
  const [answer] = await once(request(target + url, { method, headers }).end(body), 'response');
  exchange.status = answer.statusCode;
  const bytes = await buffer(answer);
  exchange.answer = bytes.length > 0 && answer.statusCode === 200 ? JSON.parse(bytes.toString()) : undefined;
  response.writeHead(answer.statusCode, answer.headers).end(bytes);
}
recorder.listen(0, '127.0.0.1');
await once(recorder, 'listening');
const baseUrl = `http://127.0.0.1:${recorder.address().port}`;
const [client, workflow] = packages.map(({ Client }) => new Client({ baseUrl, token: 'token' }));

await client.publishJSON({ url: 'https://shop.example/', body: {}, retries: 1 });
const [, prefix] = Object.keys(sent[0].headers)
  .join(' ')
  .match(/(?:^| )(\S+)-retries(?: |$)/);
const hidden = new RegExp(
  [...new Set([prefix, issuer, ...words])].filter((word) => word !== 'workflow').join('|'),
  'gi',
);
const neutral = (text) => text.replaceAll(hidden, 'acme');

const calls = readFileSync(FILE, 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line));
let failures = 0;
for (const entry of calls) {
  await using emulator = await preparedEmulator({ headerPrefix: prefix, issuer });
  target = emulator.url;
  sent.length = 0;
  const { Client, custom } = packages[0];
  const parts = { client, workflow, receiver: receiverOf(emulator), Client, custom, baseUrl, ...namesOf(emulator) };
  const problem = await compileFunction(
    `return (async () => ${entry.call})()`,
    Object.keys(parts),
  )(...Object.values(parts)).then(
    () => undefined,
    (error) => error.message,
  );
  const [{ status, answer, method, path, headers, body } = {}] = sent;
  const kept = Object.entries(headers ?? {}).filter(([name]) => !LEFT_OUT.test(name));
  entry.request = status && {
    method,
    path: neutral(path),
    headers: Object.fromEntries(kept.map(([name, value]) => [neutral(name), neutral(value)])),
    body: neutral(body),
  };
  entry.status = status;
  const missing = status === 200 ? (entry.reads ?? []).filter((field) => fieldOf(answer, field) === undefined) : [];
  const isOutside = status === 404 || status === 405;
  if ((problem !== undefined && !isOutside) || missing.length > 0) failures++;
  process.stdout.write(
    `${entry.call}: ${status ?? ''} ${problem ?? ''} ${missing.length > 0 ? `misses ${missing}` : ''}\n`,
  );
}
writeFileSync(FILE, calls.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
recorder.close();
process.exitCode = Math.sign(failures);

function receiverOf({ signingKeys: { current, next } }) {
  return new packages[0].Receiver({ currentSigningKey: current, nextSigningKey: next });
}

/** Values that the calls name. */
function namesOf(emulator) {
  const letters = emulator.deadLetters();
  const [dead, run] = ['message', 'workflow'].map((kind) => letters.find((one) => one.kind === kind));
  const [{ headers, body, path }] = emulator.destinations.requests('down.example');
  const delivery = { signature: headers[`${prefix}-signature`], body, url: `https://down.example${path}` };
  return { dlqId: dead.dlqId, runDlqId: run.dlqId, messageId: dead.id, url: 'https://shop.example/orders', delivery };
}

function fieldOf(value, field) {
  return field.split('.').reduce((inner, name) => inner?.[name], value);
}
