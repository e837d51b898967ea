/** Responses that are as harmful as HTTP and JSON allow, one kind each. */
import type { ServerResponse } from 'node:http';
import type { Answer } from '../http-sink.ts';

const MIB = 1_048_576;
/** Just within the default of `client.maxResponseBytes`. */
const MOST = 33_000_000;

export interface Harm {
  readonly what: string;
  /** Built on request, because it is large. */
  readonly answer: () => Answer;
}

export const HARMS: readonly Harm[] = [
  { what: 'a row that nests', answer: () => whole(listing(rowWith(`"header":${nested(2 * MIB)}`))) },
  { what: 'rows that are empty lists', answer: () => whole(listing(filled('[]'))) },
  { what: 'rows that are empty objects', answer: () => whole(listing(filled('{}'))) },
  { what: 'a row of many keys', answer: () => whole(listing(`{${manyKeys(600_000)}}`)) },
  { what: 'a long id', answer: () => whole(listing(rowWith('"more":0', 'i'.repeat(MOST / 6 - 100)))) },
  { what: 'a long text', answer: () => whole(listing(rowWith(`"error":"${'語'.repeat(MOST / 6 - 100)}"`))) },
  { what: 'pages without end', answer: () => pagesWithoutEnd },
  { what: 'a body without end', answer: () => writing(Buffer.alloc(MIB, ' '), 'body') },
  {
    what: 'a body of tiny chunks',
    answer: () => writing(Buffer.from('1\r\n \r\n'.repeat(MIB / 6)), 'chunks'),
  },
  { what: 'errors with long bodies', answer: () => whole(`"${'e'.repeat(MOST)}"`, 503) },
  {
    what: 'long headers',
    answer: () => (_request, response: ServerResponse) =>
      void response.socket!.end(`HTTP/1.1 200 OK\r\n${`x-more: ${'h'.repeat(1_000)}\r\n`.repeat(5_000)}\r\n`),
  },
  {
    what: 'interim answers without end',
    answer: () => writing(Buffer.from('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(1_000)), 'heads'),
  },
];

/** Responds to every listing. */
function listing(rows: string, cursor = ''): string {
  return `{"cursor":"${cursor}","logs":[${rows}],"messages":[${rows}]}`;
}

function rowWith(member: string, id = 'm'): string {
  const time = Date.now();
  return `{"time":${time},"createdAt":${time},"messageId":"${id}","dlqId":"${id}","workflowRunId":"${id}",${member}}`;
}

function nested(depth: number): string {
  return '['.repeat(depth) + ']'.repeat(depth);
}

/** Half of a body: a listing has it twice. */
function filled(row: string): string {
  return `${row},`.repeat(MOST / 2 / (row.length + 1) - 100) + row;
}

function manyKeys(count: number): string {
  return Array.from({ length: count }, (_, at) => `"key${at}":0`).join(',');
}

function whole(text: string, status = 200): Answer {
  const body = Buffer.from(text);
  return (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json', 'content-length': body.length });
    response.end(body);
  };
}

const LONG_PATH = Buffer.from(`https://x.example/${'語'.repeat(8_000)}`);

/** Every page is valid, and there is always a next one. */
const pagesWithoutEnd: Answer = ({ url }, response) => {
  const query = new URL(url, 'http://service').searchParams;
  const page = Number(query.get('cursor') ?? 0) + 1;
  const time = Number(query.get('toDate') ?? Date.now());
  const rows = Array.from({ length: 100 }, (_, at) => {
    const id = `${page}-${at}`;
    const ids = `"messageId":"${id}","dlqId":"${id}","workflowRunId":"${id}"`;
    const start = `${at === 0 ? '' : ','}{"time":${time},"state":"CREATED","createdAt":${time},${ids},"url":"`;
    return [Buffer.from(start), LONG_PATH, Buffer.from(`${id}","workflowUrl":"`), LONG_PATH, Buffer.from('"}')];
  }).flat();
  const [start, middle, end] = listing('ROWS', String(page))
    .split('ROWS')
    .map((text) => Buffer.from(text));
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(Buffer.concat([start!, ...rows, middle!, ...rows, end!]));
};

/** Writes the same part repeatedly, as fast as the client reads. */
function writing(part: Buffer, what: 'body' | 'chunks' | 'heads'): Answer {
  return (_request, response) => {
    if (what !== 'heads') response.writeHead(200, { 'transfer-encoding': 'chunked' }).flushHeaders();
    const to = what === 'body' ? response : response.socket!;
    const write = (): void => {
      while (!to.destroyed && to.write(part)) continue;
    };
    to.on('drain', write).on('error', () => undefined);
    write();
  };
}
