/**
 * A bare server of prepared log pages. Arguments: port, number of pages, bytes per entry. Every response is ready in
 * memory, so that the reader is measured. A listing is the pages of `[fromDate, toDate]`, newest first. Each page
 * covers a separate second, so a window is a range of pages.
 */
import { createServer } from 'node:http';

const [port, pages, bytes] = process.argv.slice(2).map(Number) as [number, number, number];
const PAGE = 100;
/** Number of distinct pages. The rest repeat these, with other times and message ids. */
const TEMPLATES = 50;
const START = Number(process.argv[5]);
const HOSTS = ['api.example.com', 'hooks.example.net', 'billing.example.org'];

interface Row {
  readonly state: string;
  readonly status?: number;
  readonly next?: number;
  readonly error?: string;
}

/** Twelve entries of three messages. One message fails once. A page ends with a message that stays open. */
const LIVES: readonly (readonly Row[])[] = [
  [{ state: 'CREATED' }, { state: 'ACTIVE' }, { state: 'DELIVERED', status: 200 }],
  [{ state: 'CREATED' }, { state: 'ACTIVE' }, { state: 'DELIVERED', status: 200 }],
  [
    { state: 'CREATED' },
    { state: 'ACTIVE' },
    { state: 'ERROR', status: 503, next: 60_000, error: 'destination answered 503' },
    { state: 'RETRY', next: 60_000 },
    { state: 'ACTIVE' },
    { state: 'DELIVERED', status: 200 },
  ],
];

/** Times and ids are digits of fixed width, so that a page needs a few copies and no serialization. */
const TIME = '1999999999999';
const ID = 'PPPPPPPP';

function entry(row: Row, n: number): string {
  const host = HOSTS[n % HOSTS.length]!;
  const made = {
    time: 0,
    state: row.state,
    messageId: `msg_${ID}_${n}_Qm9yZ`,
    url: `https://${host}/orders/${n}`,
    method: 'POST',
    header: {
      'Content-Type': ['application/json'],
      'Svc-Forward-Traceparent': [`00-4bf92f3577b34da6a3ce929d0e0e47${String((n % 90) | 10)}-00f067aa0ba902b7-01`],
      'User-Agent': ['bench'],
    },
    maxRetries: 3,
    label: 'orders',
    ...(row.status !== undefined && { responseStatus: row.status, responseBody: 'ok' }),
    ...(row.error !== undefined && { error: row.error }),
    ...(row.next !== undefined && { nextDeliveryTime: 0 }),
    body: '',
  };
  const text = JSON.stringify(made).replaceAll(/"(time|nextDeliveryTime)":0/g, `"$1":${TIME}`);
  return text.replace('"body":""', `"body":"${'x'.repeat(Math.max(0, bytes - text.length))}"`);
}

const template: Buffer[] = [];
const holes: { readonly times: number[]; readonly ids: number[] }[] = [];
for (let n = 0; n < TEMPLATES; n++) {
  const rows: string[] = [];
  for (let message = 0; rows.length < PAGE; message++) {
    for (const row of LIVES[message % LIVES.length]!) {
      if (rows.length < PAGE) rows.push(entry(row, n * PAGE + message));
    }
  }
  const text = rows.toReversed().join(',');
  template.push(Buffer.from(text));
  const all = (word: string): number[] => [...text.matchAll(new RegExp(word, 'g'))].map(({ index }) => index);
  holes.push({ times: all(TIME), ids: all(ID) });
}

/** Builds the page of second `n`. */
function page(n: number, cursor: number | undefined): Buffer {
  const which = n % TEMPLATES;
  const tail = cursor === undefined ? ']}' : `],"cursor":"${cursor}"}`;
  const body = Buffer.concat([Buffer.from('{"logs":['), template[which]!, Buffer.from(tail)]);
  const head = '{"logs":['.length;
  const id = String(n).padStart(ID.length, '0');
  const { times, ids } = holes[which]!;
  times.forEach((at, index) => body.write(String(START + n * 1_000 + 999 - (index % 900)), head + at, 'latin1'));
  for (const at of ids) body.write(id, head + at, 'latin1');
  return body;
}

createServer((request, response) => {
  const { searchParams } = new URL(request.url ?? '/', 'http://bench');
  const from = Math.max(0, Math.floor((Number(searchParams.get('fromDate') ?? 0) - START) / 1_000));
  const to = Math.min(pages - 1, Math.floor((Number(searchParams.get('toDate') ?? Infinity) - START) / 1_000));
  const at = Number(searchParams.get('cursor') ?? to);
  response.setHeader('content-type', 'application/json');
  if (searchParams.has('messageId')) {
    response.end(
      `{"logs":[{"time":${START},"messageId":"${searchParams.get('messageId')}"},{"time":${START + 1},"messageId":"${searchParams.get('messageId')}"}]}`,
    );
    return;
  }
  if (at < from || Number.isNaN(at)) {
    response.end('{"logs":[]}');
    return;
  }
  response.end(page(at, at > from ? at - 1 : undefined));
}).listen(port, '127.0.0.1');
