/** The commands of docs/emulator.md, run unchanged against a running emulator. The test needs curl and python3. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { httpSink } from '../support/http-sink.ts';
import { emulatorProgram, installed, start } from '../support/program.ts';

const text = readFileSync(join(import.meta.dirname, '../../docs/emulator.md'), 'utf8').split('## In three lines')[1]!;

test.each([
  ['sh', 'sh', ['-ec']],
  ['js', process.execPath, ['--input-type=module', '-e']],
  ['py', 'python3', ['-c']],
] as const)('%s', async (language, command, args) => {
  expect(
    language === 'py' ? installed('python3') : command,
    'install python3: nothing else proves these lines',
  ).toBeDefined();
  const sink = await httpSink();
  const emulator = await emulatorProgram(['--token=test']);
  const block = new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 's').exec(text)![1]!;
  const script = block.replaceAll('http://127.0.0.1:8080', emulator.url).replaceAll('http://127.0.0.1:9000', sink.url);
  const program = start(command, [...args, script]);
  expect((await program.ended).code, program.stderr()).toBe(0);
  expect(program.stdout()).toContain('"logs"'.slice(1, -1));
  expect(sink.requests).toMatchObject([{ method: 'POST', url: '/orders' }]);
});

test('the commands of the control path', async () => {
  const emulator = await emulatorProgram(['--control', '--time=virtual']);
  const commands = text
    .split('## Signatures')[0]!
    .split('\n')
    .filter((line) => line.startsWith('curl ') && line.includes('/-/emulator/'));
  expect(commands).toHaveLength(5);
  for (const command of commands) {
    const here = command.replaceAll('http://127.0.0.1:8080', emulator.url);
    const program = start('sh', ['-ec', here.replace(/^curl /, 'curl --fail --silent --show-error ')]);
    expect((await program.ended).code, `${command}: ${program.stderr()}`).toBe(0);
    expect(JSON.parse(program.stdout()), command).toBeDefined();
  }
});
