/** Lines about deliveries on standard output: a file, a pipe, or a socket. */
import { execFileSync, spawn } from 'node:child_process';
import { closeSync, constants, createReadStream, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { tempDir } from '../../support/temp-dir.ts';
import { until } from '../../support/until.ts';

const PROGRAM = join(import.meta.dirname, 'programs/write-lines.ts');
const LINES = 4_000;
/** The lines together exceed the buffer of a pipe or a socket. */
const BYTES = 300;

interface Writing {
  /** Returns the program's reports so far. */
  told(): readonly { readonly type: string; readonly reason?: string; readonly queued?: number }[];
  readonly isFull: () => boolean;
  /** Requests its end before all is written. */
  stop(): void;
  readonly stdout: Readable | null;
  readonly code: Promise<number | null>;
}

function writing(stdout: 'pipe' | number): Writing {
  const child = spawn(process.execPath, [PROGRAM, String(LINES), String(BYTES)], { stdio: ['pipe', stdout, 'pipe'] });
  let stderr = '';
  child.stderr!.setEncoding('utf8').on('data', (part: string) => (stderr += part));
  const code = new Promise<number | null>((resolve) => child.on('exit', resolve));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await code;
  });
  const told = (): ReturnType<Writing['told']> =>
    stderr
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as ReturnType<Writing['told']>[number]);
  return {
    told,
    isFull: () => told().some(({ type, reason }) => type === 'deliveries.failing' && reason === 'EAGAIN'),
    stop: () => void child.stdin!.end(),
    stdout: child.stdout,
    code,
  };
}

function pipe(): { readonly path: string; readonly reader: number; readonly writer: number } {
  const path = join(tempDir(), 'pipe');
  execFileSync('mkfifo', [path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writer = openSync(path, constants.O_WRONLY);
  return { path, reader, writer };
}

function expectAll(written: string): void {
  const numbers = written.split('\n').map((line) => (line === '' ? -1 : (JSON.parse(line) as { n: number }).n));
  expect(numbers).toEqual([...Array.from({ length: LINES }, (_, n) => n), -1]);
}

test('a file gets every line, after its content', async () => {
  const path = join(tempDir(), 'lines');
  const fd = openSync(path, 'a');
  const program = writing(fd);
  closeSync(fd);
  expect(await program.code).toBe(0);
  expectAll(readFileSync(path, 'utf8'));
  expect(program.told().at(-1)).toEqual({ type: 'ended', queued: 0 });
});

test('a socket that is read late gets every line, once and whole', async () => {
  // Node gives a child a socket as its output.
  const program = writing('pipe');
  await until({ what: 'it takes no more' }, program.isFull);
  expectAll(await text(program.stdout!));
  expect(await program.code).toBe(0);
  expect(program.told().at(-1)).toEqual({ type: 'ended', queued: 0 });
});

test('a pipe that is read late gets every line, once and whole', async () => {
  const { path, reader, writer } = pipe();
  onTestFinished(() => closeSync(reader));
  const program = writing(writer);
  closeSync(writer);
  await until({ what: 'it takes no more' }, program.isFull);
  expectAll(await text(createReadStream(path)));
  expect(await program.code).toBe(0);
});

test('a pipe that no process reads does not keep the process from its end, and the rest is kept', async () => {
  const { reader, writer } = pipe();
  onTestFinished(() => closeSync(reader));
  const program = writing(writer);
  closeSync(writer);
  await until({ what: 'it takes no more' }, program.isFull);
  program.stop();
  expect(await program.code).toBe(0);
  const last = program.told().at(-1);
  expect(last).toMatchObject({ type: 'ended' });
  expect(last!.queued).toBeGreaterThan(0);
});

test('a reader that is slow when the process ends gets the rest', async () => {
  const program = writing('pipe');
  await until({ what: 'it takes no more' }, program.isFull);
  program.stop();
  expectAll(await text(program.stdout!));
  expect(program.told().at(-1)).toEqual({ type: 'ended', queued: 0 });
});

test('a reader that disconnects is reported, and ends nothing', async () => {
  const program = writing('pipe');
  await until({ what: 'it takes no more' }, program.isFull);
  program.stdout!.destroy();
  await until({ what: 'it is told' }, () => program.told().some(({ reason }) => reason === 'EPIPE'));
  program.stop();
  expect(await program.code).toBe(0);
});
