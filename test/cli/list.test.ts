/** Lists: pages, formats, and truncation to the terminal. */
import { expect, test } from 'vitest';
import type { Command } from '#cli/command.ts';
import { runList, type Listing } from '#cli/list.ts';
import { ACCOUNT_OPTION, LIST_OPTIONS, SINCE_OPTION, timeOption, UNTIL_OPTION } from '#cli/list-options.ts';
import { httpSink, type HttpSink } from '../support/http-sink.ts';
import { runCommand, terminal, type TerminalOptions } from './terminal.ts';

interface Row {
  readonly id: string;
  readonly label: string;
  readonly size: number;
}

const LISTING: Listing<Row> = {
  path: '/api/v1/things',
  query: { label: ['a', 'b'], account: undefined },
  key: 'things',
  collectors: [],
  columns: [
    { title: 'ID', text: ({ id }) => id, isWhole: true },
    { title: 'SIZE', text: ({ size }) => String(size), align: 'right' },
    { title: 'LABEL', text: ({ label }) => label },
    { title: 'NOTE', text: (_row, at) => `read at ${at}`, isWide: true },
  ],
  id: ({ id }) => id,
  empty: 'No things. A publish makes one.',
};

const command: Command = {
  name: 'things list',
  summary: '',
  options: { account: ACCOUNT_OPTION, since: SINCE_OPTION, until: UNTIL_OPTION, ...LIST_OPTIONS },
  examples: ['', ''],
  run: (call) => runList(call, LISTING),
};

function rows(count: number): Row[] {
  return Array.from({ length: count }, (_, n) => ({ id: `id-${n}`, label: `label ${n}`, size: n }));
}

/** A daemon with these rows, in pages as requested. */
async function daemonWith(all: readonly Row[]): Promise<HttpSink> {
  return httpSink(({ url }, response) => {
    const query = new URL(url, 'http://x').searchParams;
    const from = Number(query.get('cursor') ?? 0);
    const to = from + Number(query.get('limit'));
    const cursor = to < all.length ? { cursor: String(to) } : {};
    response.end(JSON.stringify({ at: 5, things: all.slice(from, to), ...cursor }));
  });
}

async function listed(sink: HttpSink, args: readonly string[], options: TerminalOptions = {}) {
  const world = terminal(options);
  const code = await runCommand(command, ['--url', sink.url, ...args], world);
  return { code, stdout: world.stdout, stderr: world.stderr };
}

test('the table is aligned, and says what is left out', async () => {
  const sink = await daemonWith(rows(12));
  expect(await listed(sink, ['--limit', '2'])).toEqual({
    code: 0,
    stdout: 'ID    SIZE  LABEL\nid-0     0  label 0\nid-1     1  label 1\n',
    stderr: 'The first 2; more with --limit.\n',
  });
  expect(sink.requests.map(({ url }) => url)).toEqual(['/api/v1/things?label=a&label=b&limit=2']);
});

test('pages are followed up to the limit, with a progress line on a terminal only', async () => {
  const sink = await daemonWith(rows(1_250));
  const plain = await listed(sink, ['--limit', '250', '-o', 'name']);
  expect(plain.stdout.split('\n')).toHaveLength(251);
  expect(plain.stderr).toBe('The first 250; more with --limit.\n');
  expect(sink.requests.map(({ url }) => /limit=\d+(&cursor=\d+)?/.exec(url)![0])).toEqual([
    'limit=100',
    'limit=100&cursor=100',
    'limit=50&cursor=200',
  ]);
  const seen = await listed(sink, ['--limit', '201', '-o', 'name'], { isTTY: true });
  expect(seen.stderr).toBe('\r100 rows read…\r\u001B[K\r200 rows read…\r\u001B[KThe first 201; more with --limit.\n');
});

test('a cursor that does not advance ends the list', async () => {
  const sink = await httpSink((_request, response) => void response.end('{"things": [], "cursor": "same"}'));
  expect((await listed(sink, ['-o', 'name'])).code).toBe(0);
  expect(sink.requests).toHaveLength(2);
});

test('a search without matches stops, and says so', async () => {
  let page = 0;
  const sink = await httpSink((_request, response) => void response.end(`{"things": [], "cursor": "${(page += 1)}"}`));
  expect(await listed(sink, [])).toEqual({
    code: 0,
    stdout: '',
    stderr: 'The search stopped after 10 pages without a match. Limit the time, or the filters.\n',
  });
  expect(sink.requests).toHaveLength(10);
});

test('JSON is the response of the API, and of several pages one response', async () => {
  const all = rows(150);
  const sink = await daemonWith(all);
  const { stdout } = await listed(sink, ['--limit', '200', '-o', 'json']);
  expect(JSON.parse(stdout)).toEqual({ at: 5, things: all });
  expect(JSON.parse((await listed(sink, ['--limit', '1', '-o', 'json'])).stdout)).toEqual({
    at: 5,
    things: all.slice(0, 1),
    cursor: '1',
  });
  expect((await listed(sink, ['--limit', '1', '-o', 'yaml'])).stdout).toContain('- id: id-0\n');
});

test('a terminal truncates long texts and never ids; wide and files truncate nothing', async () => {
  const sink = await daemonWith([{ id: 'id-with-forty-characters-that-are-copied-', label: 'x'.repeat(60), size: 7 }]);
  const { stdout } = await listed(sink, [], { isTTY: true, columns: 64 });
  expect(stdout.split('\n')[1]).toBe(`id-with-forty-characters-that-are-copied-     7  ${'x'.repeat(14)}…`);
  const long = `7  ${'x'.repeat(60)}`;
  expect((await listed(sink, ['-o', 'wide'], { isTTY: true, columns: 64 })).stdout).toContain(`${long}  read at 5`);
  expect((await listed(sink, [])).stdout).toContain(`${long}\n`);
});

test('wide characters keep the columns aligned, and control characters are escaped', async () => {
  const label = '請求書 🚀 done';
  const sink = await daemonWith([
    { id: '請求', label, size: 1 },
    { id: 'a\u001B[2J', label: 'b', size: 2 },
  ]);
  const { stdout } = await listed(sink, [], { isTTY: true, columns: 26 });
  expect(stdout).toBe(`ID        SIZE  LABEL\n請求         1  請求書 🚀…\na\\x1b[2J     2  b\n`);
});

test('an empty list says what would fill it, on stderr', async () => {
  const sink = await daemonWith([]);
  expect(await listed(sink, [])).toEqual({ code: 0, stdout: '', stderr: 'No things. A publish makes one.\n' });
});

test('a response without the rows is no list', async () => {
  const sink = await httpSink((_request, response) => void response.end('{"things": {}}'));
  await expect(listed(sink, [])).rejects.toThrow('the response of /api/v1/things has no things; check that it is opsd');
});

test.each(['0', '-1', '1.5', 'x', '1000001'])('the limit %s is refused before any request', async (limit) => {
  const sink = await daemonWith([]);
  await expect(listed(sink, [`--limit=${limit}`])).rejects.toThrow('--limit must be an integer from 1 to 1000000');
  expect(sink.requests).toEqual([]);
});

test.each([
  ['2h', 7_200_000],
  ['1970-01-01T01:00:00Z', -3_600_000],
])('--since %s is a time', (text, ago) => {
  const now = text === '2h' ? 10_000_000 : 0;
  expect(timeOption({ since: text }, 'since', now)).toBe(now - ago);
});

test.each(['yesterday', '12', '2026-13-45'])('--since %s is refused', (since) => {
  expect(() => timeOption({ since }, 'since', 0)).toThrow(`not '${since}'`);
});
