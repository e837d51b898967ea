/** The section "Other languages" of docs/emulator.md, run with the package that npm installs. */
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { healthUrl } from '../../deploy/image/health.ts';
import { freePort } from '../support/free-port.ts';
import type { InstalledPackage } from '../support/installed-package.ts';
import { installed, start } from '../support/program.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

const SECTION = readFileSync(join(import.meta.dirname, '../../docs/emulator.md'), 'utf8').split(
  '## Other languages',
)[1]!;
const BLOCKS = new Map(
  [...SECTION.matchAll(/```\w+ (\S+)\n(.*?)```/gs)].map(([, name, text]) => [name!, text!] as const),
);

/** What the recipes use of Testcontainers, which needs a container engine to run. */
const STUBS = {
  'org/testcontainers/containers/wait/strategy/Wait.java': `package org.testcontainers.containers.wait.strategy;
    public class Wait { public static Object forHttp(String path) { return path; } }`,
  'org/testcontainers/containers/GenericContainer.java': `package org.testcontainers.containers;
    public class GenericContainer<T extends GenericContainer<T>> {
      public GenericContainer(String image) {}
      public T withCommand(String... words) { return null; }
      public T withExposedPorts(Integer... ports) { return null; }
      public T waitingFor(Object strategy) { return null; }
      public void start() {}
      public String getHost() { return ""; }
      public Integer getMappedPort(int port) { return port; }
    }`,
};

/** Writes files into a folder that has the package. */
function project(user: Pick<InstalledPackage, 'folder'>, files: Readonly<Record<string, string>>): string {
  const folder = tempDir();
  symlinkSync(join(user.folder, 'node_modules'), join(folder, 'node_modules'));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

/** Declares the tests. @param user returns the package, once it is installed */
export function testLanguages(user: () => Pick<InstalledPackage, 'folder' | 'opsd'>): void {
  const PATH = [dirname(process.execPath), process.env['PATH']].join(':');

  test('each block of other languages is tested', () => {
    const names = ['conftest.py', 'test_orders.py', 'testcontainer.py', 'OrdersTest.java', 'emulator-step'];
    expect([...BLOCKS.keys()]).toEqual(names);
    expect(SECTION.match(/^```/gm)).toHaveLength(2 * names.length);
  });

  test('the pytest fixture has thirty lines, and starts and ends the emulator', async () => {
    const names = ['conftest.py', 'test_orders.py'];
    expect(BLOCKS.get('conftest.py')!.split('\n').length - 1).toBeLessThanOrEqual(30);
    const cwd = project(user(), Object.fromEntries(names.map((name) => [name, BLOCKS.get(name)!])));
    const program = start('python3', ['-m', 'pytest', '-q', '-p', 'no:cacheprovider'], { cwd, env: { PATH } });
    const { code, stdout, stderr } = await program.output();
    expect(stdout + stderr, 'install python3-pytest: nothing else proves the fixture').toContain('1 passed');
    expect(code).toBe(0);
  });

  test('the step of GitHub Actions starts the emulator, and waits for it', async () => {
    const [{ run }] = parse(BLOCKS.get('emulator-step')!) as [{ run: string }];
    const address = `127.0.0.1:${await freePort()}`;
    const script = `${run.replaceAll('127.0.0.1:8080', address)}\necho " pid $!"`;
    const { code, stdout, stderr } = await start('bash', ['-e', '-c', script], {
      cwd: project(user(), {}),
      env: { PATH },
    }).output();
    expect(stdout, stderr).toMatch(/^\{"status":"ok"\} pid \d+\n$/);
    process.kill(Number(/pid (\d+)/.exec(stdout)![1]), 'SIGTERM');
    expect(code).toBe(0);
  });

  test.each([
    ['testcontainer.py', /with_command\(\[(.*)\]\)/],
    ['OrdersTest.java', /withCommand\((.*)\)/],
  ])('the command of %s starts an emulator that is healthy', async (name, command) => {
    const words = JSON.parse(`[${command.exec(BLOCKS.get(name)!)![1]}]`) as string[];
    expect(healthUrl(['opsd', ...words], {})).toBe('http://127.0.0.1:8080/health');
    const program = user().opsd(words.map((word) => word.replace('0.0.0.0:8080', '127.0.0.1:0')));
    onTestFinished(() => program.kill('SIGTERM'));
    await until({ what: 'the emulator is ready' }, () => program.stdout().includes('\n') || undefined);
    const { url } = JSON.parse(program.stdout()) as { url: string };
    expect((await fetch(`${url}/health`)).status).toBe(200);
  });

  test('the recipes for containers compile', async () => {
    const files = ['testcontainer.py', 'OrdersTest.java'].map((name) => [name, BLOCKS.get(name)!] as const);
    const cwd = project(user(), { ...STUBS, ...Object.fromEntries(files) });
    const python = await start('python3', ['-m', 'py_compile', 'testcontainer.py'], { cwd }).output();
    expect(python).toMatchObject({ code: 0, stderr: '' });
    // Few machines of this project have Java.
    if (installed('javac') === undefined) return;
    const java = await start('javac', ['-d', 'classes', 'OrdersTest.java'], { cwd }).output();
    expect(java).toMatchObject({ code: 0, stderr: '' });
  });
}
