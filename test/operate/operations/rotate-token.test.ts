/** Rotation of a token: at no moment is the only valid token lost, and it is nowhere but in its file. */
import * as nodeFiles from 'node:fs';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { EXIT } from '#cli/command.ts';
import { createTokenFiles, type FileSystem } from '#operate/operations/token-file.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { unprivileged } from '../../support/unprivileged.ts';
import { TEST_TOKEN } from '../../support/service.ts';
import { operationsWorld, type OperationsWorld } from './world.ts';

const CONFIRMED = ['rotate-token', '--yes', '--confirm=production', '-o', 'json'];

const tokenIn = (file: string): string => readFileSync(file, 'utf8').trim();
const modeOf = (file: string): string => (statSync(file).mode & 0o777).toString(8);

/** Token of the service's last response to a rotation. */
function issued({ exchanged }: OperationsWorld): { readonly token: string; readonly read_only_token: string } {
  const { body } = exchanged.findLast(({ url }) => url.includes('rotate-token'))!;
  return JSON.parse(body) as { token: string; read_only_token: string };
}

/** Fails if a token is in the output, the log, the audit log, or another file of the folder. */
async function expectHidden(
  world: OperationsWorld,
  outputs: readonly string[],
  files: readonly string[],
): Promise<void> {
  const { token, read_only_token: readOnly } = issued(world);
  const others = readdirSync(world.folder)
    .filter((name) => !files.includes(name) && statSync(join(world.folder, name)).isFile())
    .map((name) => readFileSync(join(world.folder, name), 'latin1'));
  const texts = JSON.stringify([outputs, world.log, others, await world.audit()]);
  for (const secret of [token, readOnly, TEST_TOKEN]) expect(texts).not.toContain(secret);
}

test('the new token is in the file, works, and is nowhere else', async () => {
  const world = await operationsWorld();
  const { code, stdout, stderr } = await world.api(CONFIRMED);
  expect(code, stderr).toBe(EXIT.ok);
  expect([tokenIn(world.tokenFile), modeOf(world.tokenFile)]).toEqual([issued(world).token, '600']);
  expect(JSON.parse(stdout)).toMatchObject({ id: 'acc-1', token: '[secret]', read_only_token: '[secret]' });
  expect(stderr).toContain(`The new token is in ${world.tokenFile}.`);
  expect(stderr).toContain('The new read-only token is stored nowhere');
  expect(readdirSync(world.folder).filter((name) => /\.(?:new|previous)$/.test(name))).toEqual([]);
  expect((await world.api(['list-url-groups'])).code).toBe(EXIT.ok);
  await expectHidden(world, [stdout, stderr], ['token']);
  const again = await world.api(CONFIRMED);
  expect([again.code, tokenIn(world.tokenFile)]).toEqual([EXIT.ok, issued(world).token]);
});

test('the token is on disk before its operation ends, and the old one until a read succeeds', async () => {
  const world = await operationsWorld();
  const seen: unknown[] = [];
  world.onAnswer(({ url }) => {
    if (!url.startsWith('/v2/topics')) return undefined;
    if (!existsSync(`${world.tokenFile}.previous`)) return undefined;
    seen.push([tokenIn(world.tokenFile) === issued(world).token, tokenIn(`${world.tokenFile}.previous`)]);
    seen.push(modeOf(`${world.tokenFile}.previous`));
    return undefined;
  });
  expect((await world.api(CONFIRMED)).code).toBe(EXIT.ok);
  expect(seen.slice(0, 2)).toEqual([[true, TEST_TOKEN], '600']);
  expect((await world.audit()).map(({ type }) => type)).toEqual(['operation.begun', 'operation.ended']);
});

test('the old token stays if a read with the new one fails', async () => {
  const world = await operationsWorld();
  world.onAnswer(({ url }) => (url.startsWith('/v2/topics') ? 'lose' : undefined));
  const { code, stderr } = await world.api(CONFIRMED);
  expect(code).toBe(EXIT.ok);
  expect(stderr).toMatch(/A read with the token in .* failed: .*The old token is in .*token\.previous/);
  expect(tokenIn(`${world.tokenFile}.previous`)).toBe(TEST_TOKEN);
  expect(tokenIn(world.tokenFile)).toBe(issued(world).token);
});

test('a lost response is reported with the next step, and the files stay', async () => {
  const world = await operationsWorld();
  world.onAnswer(({ url }) => (url.includes('rotate-token') ? 'lose' : undefined));
  const { code, stderr } = await world.api(CONFIRMED);
  expect(code).toBe(EXIT.failed);
  expect(stderr).toContain(`The token in ${world.tokenFile} may be invalid. Check it with`);
  expect(stderr).toContain('api rotate-token --socket');
  expect(tokenIn(world.tokenFile)).toBe(TEST_TOKEN);
  expect(existsSync(`${world.tokenFile}.new`)).toBe(false);
  expect((await world.audit()).at(-1)).toMatchObject({ outcome: 'unknown' });
  await expectHidden(world, [stderr], ['token']);
  // The named next step works: the rotation needs only the management API.
  world.onAnswer(() => undefined);
  expect((await world.api(CONFIRMED)).code).toBe(EXIT.ok);
  expect(tokenIn(world.tokenFile)).toBe(issued(world).token);
});

test.each([
  ['is not JSON', 'token lost'],
  ['has no token', '{"id":"acc-1"}'],
  ['has a token that no header can have', '{"token":"a b\\n"}'],
])('a response that %s is kept beside the file', async (_what, body) => {
  const world = await operationsWorld();
  world.onAnswer(({ url }) => (url.includes('rotate-token') ? { body } : undefined));
  const { code, stderr } = await world.api(CONFIRMED);
  expect(code).toBe(EXIT.ok);
  expect(stderr).toContain(`It is kept in ${world.tokenFile}.new`);
  expect([tokenIn(`${world.tokenFile}.new`), modeOf(`${world.tokenFile}.new`)]).toEqual([body, '600']);
  expect(tokenIn(world.tokenFile)).toBe(TEST_TOKEN);
  // It may be the only copy: another rotation does not overwrite it.
  const again = await world.api(CONFIRMED);
  expect([again.code, again.stderr]).toEqual([EXIT.failed, expect.stringContaining('interrupted rotation')]);
});

test('nothing is sent if the file cannot be replaced', async () => {
  const world = await operationsWorld();
  mkdirSync(`${world.tokenFile}.new`);
  const { code, stderr } = await world.api(CONFIRMED);
  expect([code, stderr]).toEqual([EXIT.failed, expect.stringMatching(/rejected the request/)]);
  expect(world.exchanged.some(({ url }) => url.includes('rotate-token'))).toBe(false);
  expect(await world.audit()).toEqual([]);
});

test('a rejected rotation leaves no file', async () => {
  const world = await operationsWorld();
  const { code } = await world.api([
    ...CONFIRMED,
    'id=acc-9',
    `tokenFile=${join(world.folder, 'other')}`,
    '--confirm=acc-9',
  ]);
  expect(code).toBe(EXIT.failed);
  expect(readdirSync(world.folder).filter((name) => /^(?:other|token\.)/.test(name))).toEqual([]);
});

describe('where the tokens go', () => {
  test('with a token for writes, the full one and the read-only one have files', async () => {
    const files = 'actionTokenFile: action-token, tokenFile: token';
    const world = await operationsWorld({
      token: files,
      before: (folder) => writeFileSync(join(folder, 'action-token'), TEST_TOKEN),
    });
    const { code, stderr } = await world.api(CONFIRMED);
    expect(code, stderr).toBe(EXIT.ok);
    const { token, read_only_token: readOnly } = issued(world);
    expect([tokenIn(join(world.folder, 'action-token')), tokenIn(world.tokenFile)]).toEqual([token, readOnly]);
    expect(stderr).toContain('The new read-only token is in');
    expect(readdirSync(world.folder).filter((name) => /\.(?:new|previous)$/.test(name))).toEqual([]);
    await expectHidden(world, [stderr], ['token', 'action-token']);
  });

  test('a token in the configuration itself needs a named file', async () => {
    const world = await operationsWorld({ token: `token: ${TEST_TOKEN}` });
    const { code, stderr } = await world.api(CONFIRMED);
    expect([code, stderr]).toEqual([EXIT.failed, expect.stringMatching(/not in a file.*Set messageApi\.tokenFile/)]);
    const named = join(world.folder, 'named');
    const done = await world.api([...CONFIRMED, `tokenFile=${named}`]);
    expect([done.code, tokenIn(named), modeOf(named)]).toEqual([EXIT.ok, issued(world).token, '600']);
    expect(done.stderr).toContain('The daemon still uses its configured token.');
  });

  test('only a caller on the machine can name a file', async () => {
    const world = await operationsWorld();
    const body = { tokenFile: join(world.folder, 'named'), confirm: 'production' };
    const answer = await world.post('admin', 'rotate-token', body);
    expect([answer.status, await answer.text()]).toEqual([409, expect.stringContaining('use the unix socket')]);
  });

  test('the id of another account needs a named file', async () => {
    const world = await operationsWorld();
    const { code, stderr } = await world.api([...CONFIRMED.slice(0, 2), 'id=acc-2', '--confirm=acc-2']);
    expect([code, stderr]).toEqual([EXIT.failed, expect.stringContaining('this id is of another account')]);
    expect(tokenIn(world.tokenFile)).toBe(TEST_TOKEN);
  });
});

/** Process that ends at the nth call of the file system: no later call has an effect. */
function dyingAt(nth: number) {
  const called: string[] = [];
  const names = [
    'openSync',
    'writeSync',
    'fsyncSync',
    'ftruncateSync',
    'closeSync',
    'renameSync',
    'unlinkSync',
  ] as const;
  const files: Record<string, unknown> = { ...nodeFiles };
  for (const name of names) {
    const real = nodeFiles[name] as (...given: unknown[]) => unknown;
    files[name] = (...given: unknown[]) => {
      called.push(name);
      if (called.length >= nth) throw new Error('killed');
      return real(...given);
    };
  }
  return { files: files as unknown as FileSystem, called, calls: () => called.length };
}

describe('a crash at any call of the file system', () => {
  /** @param onStep called after the token was written, and after it replaced the old one */
  const rotation = (file: string, files: FileSystem, onStep: () => void = () => undefined): void => {
    using token = createTokenFiles(files).reserve(file);
    token.write('new-token');
    onStep();
    token.replace();
    onStep();
    token.forget();
  };

  test('leaves a complete token in the file, and the new one once it was written', () => {
    const all = dyingAt(Infinity);
    const first = join(tempDir(), 'token');
    const steps: number[] = [];
    writeFileSync(first, 'old-token\n');
    rotation(first, all.files, () => steps.push(all.calls()));
    const [written = 0, replaced = 0] = steps;
    expect(written).toBeGreaterThan(8);
    expect(replaced).toBeGreaterThan(written + 5);
    for (let nth = 1; nth <= all.calls(); nth++) {
      const file = join(tempDir(), 'token');
      writeFileSync(file, 'old-token\n', { mode: 0o640 });
      expect(() => rotation(file, dyingAt(nth).files)).toThrow(Error);
      const [now, unsaved, previous] = [file, `${file}.new`, `${file}.previous`].map((path) =>
        existsSync(path) ? tokenIn(path) : undefined,
      );
      const at = `call ${nth}`;
      expect(['old-token', 'new-token'], at).toContain(now);
      if (nth > written) expect([now, unsaved], at).toContain('new-token');
      if (nth <= replaced) expect([now, previous], at).toContain('old-token');
      for (const path of [`${file}.new`, `${file}.previous`])
        if (existsSync(path)) expect(modeOf(path), at).toBe('600');
      // The next rotation works, or names the file that has a token.
      const isLeft = unsaved !== undefined && unsaved !== '';
      if (isLeft)
        expect(() => rotation(file, nodeFiles), at).toThrow(`${file}.new has the token of an interrupted rotation`);
      else rotation(file, nodeFiles);
    }
  });
});

test('every step is durable before the next one: the reservation, the token, the old token, and the new name', () => {
  const { files, called } = dyingAt(Infinity);
  const file = join(tempDir(), 'token');
  writeFileSync(file, 'old-token\n');
  const inFolder = ['openSync', 'fsyncSync', 'closeSync'];
  using token = createTokenFiles(files).reserve(file);
  expect(called.splice(0)).toEqual(['openSync', 'writeSync', 'fsyncSync', ...inFolder]);
  token.write('new-token');
  expect(called.splice(0)).toEqual(['writeSync', 'ftruncateSync', 'fsyncSync', 'closeSync']);
  token.replace();
  expect(called.splice(0)).toEqual(['openSync', 'writeSync', 'fsyncSync', 'closeSync', 'renameSync', ...inFolder]);
  token.forget();
  expect(called.splice(0)).toEqual(['unlinkSync', ...inFolder]);
});

test('a folder without write permission rotates nothing', async () => {
  const folder = tempDir();
  const file = join(folder, 'token');
  writeFileSync(file, 'old-token');
  chmodSync(folder, 0o555);
  onTestFinished(() => chmodSync(folder, 0o755));
  await unprivileged(() => {
    expect(() => createTokenFiles().reserve(file)).toThrow(/so the token was not rotated: EACCES/);
  });
  expect(readdirSync(folder)).toEqual(['token']);
});

test('a file is in one rotation at a time', () => {
  const file = join(tempDir(), 'token');
  const files = createTokenFiles();
  {
    using _first = files.reserve(file);
    expect(() => files.reserve(file)).toThrow(/a rotation of the token in .* is in progress/);
  }
  files.reserve(file)[Symbol.dispose]();
  expect(readdirSync(join(file, '..'))).toEqual([]);
});
