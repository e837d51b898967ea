/** Address of the image's health check, for each command that a container may run. */
import { expect, test } from 'vitest';
import { healthUrl } from '../../deploy/image/health.ts';
import { COMMANDS } from '#cli/index.ts';

const NODE = ['node', '--min-semi-space-size=2', '--max-semi-space-size=4', 'dist/opsd.js'];

test.each([
  [['run', '--config', '/etc/opsd/config.yaml'], 'http://127.0.0.1:10779/-/healthy'],
  [['demo'], 'http://127.0.0.1:10779/-/healthy'],
  [['emulator'], 'http://127.0.0.1:8080/health'],
  [['emulator', '--listen', ':9000'], 'http://127.0.0.1:9000/health'],
  [['emulator', '--token=t', '--listen=0.0.0.0:9000'], 'http://127.0.0.1:9000/health'],
  [['emulator', '--listen=[::]:9000'], 'http://127.0.0.1:9000/health'],
  [['emulator', '--listen=[::1]:9000'], 'http://[::1]:9000/health'],
  [['emulator', '--listen=127.0.0.1:1', '--listen=10.0.0.5:2'], 'http://10.0.0.5:2/health'],
])('%j is checked at %s', (args, url) => {
  expect(healthUrl([...NODE, ...args, ''], {})).toBe(url);
  expect(healthUrl(['/sbin/docker-init', '--', ...NODE, ...args, ''], {})).toBe(url);
  expect(healthUrl(['/usr/local/bin/node', '/usr/local/bin/opsd', ...args, ''], {})).toBe(url);
});

test('the daemon is checked where the environment puts the probes', () => {
  expect(healthUrl([...NODE, 'run'], { OPSD_PROBES_LISTEN: ':1234' })).toBe('http://127.0.0.1:1234/-/healthy');
});

test('every other command ends by itself and is healthy until then', () => {
  const others = COMMANDS.map(({ name }) => name).filter((name) => !['run', 'demo', 'emulator'].includes(name));
  expect(others.length).toBeGreaterThan(10);
  for (const name of others) expect(healthUrl([...NODE, name], {}), name).toBeUndefined();
});
