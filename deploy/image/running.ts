/** Behavior of the running image: the demo, the daemon as the image starts it, over its volume, and the emulator. */
import { chownSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BuiltImage } from './buildah.ts';
import { expects, type Check } from './checks.ts';
import { USER } from './machine.ts';
import { startSandbox, type Sandbox } from './sandbox.ts';

export interface Running {
  readonly startSeconds: number;
  readonly stopSeconds: number;
  readonly residentBytes: number;
  readonly peakBytes: number;
  readonly checks: readonly Check[];
}

const STARTED = '"msg":"daemon running"';
/** A user that OpenShift could choose. */
const OTHER_USER = 1_000_680_000;

export async function runDemo(image: BuiltImage, folder: string): Promise<Running> {
  const sandbox = await startSandbox(image, { store: volume(folder, 'demo'), args: ['demo'] });
  const startSeconds = await sandbox.printed(STARTED);
  const checks = [
    await healthCheck(image, sandbox),
    await metrics(image, sandbox),
    await confinement(sandbox),
    await worldInNode(sandbox),
    await noShell(sandbox),
  ];
  const { resident, peak } = sandbox.memory();
  const { code, seconds, log } = await sandbox.stop();
  checks.push(endsWell('the demo', code, log));
  return { startSeconds, stopSeconds: seconds, residentBytes: resident, peakBytes: peak, checks };
}

/** Runs ENTRYPOINT and CMD unchanged, twice over one volume: the second run finds the data of the first. */
export async function runDaemon(image: BuiltImage, folder: string): Promise<Check[]> {
  const store = volume(folder, 'store');
  const config = join(folder, 'config');
  mkdirSync(config);
  writeFileSync(join(config, 'config.yaml'), 'accounts: [{ name: shop, url: embedded }]\n');
  const first = await startSandbox(image, { store, config });
  await first.printed(STARTED);
  const paused = await first.exec(['opsd', 'pause', '--reason', 'a look at the image']);
  const ended = await first.stop();
  const second = await startSandbox(image, { store, config });
  await second.printed(STARTED);
  const { stdout } = await ask(second, 'http://127.0.0.1:10777/metrics');
  const again = await second.stop();
  const other = await startSandbox(image, { store: volume(folder, 'other', OTHER_USER), config, user: OTHER_USER });
  await other.printed(STARTED);
  const asOther = await other.stop();
  return [
    endsWell('the daemon', ended.code, ended.log),
    expects('commands reach it: opsd pause', paused.code === 0, paused.stderr),
    expects(
      'data in the volume persists over a restart',
      /^opsd_state_restored 1$/m.test(stdout) && /^opsd_paused\{[^}]*scope="engine"[^}]*\} 1$/m.test(stdout),
      stdout
        .split('\n')
        .filter((line) => /^opsd_(?:state_restored|paused)/.test(line))
        .join('; '),
    ),
    endsWell('the daemon, again', again.code, again.log),
    endsWell('the daemon, as any user of group 0', asOther.code, asOther.log),
    expects('no code is kept in the volume', !readdirSync(store).includes('.cache'), 'it has a compile cache'),
  ];
}

/** Runs `opsd emulator`, as tests in containers do. */
export async function runEmulator(image: BuiltImage, folder: string): Promise<Check[]> {
  const args = ['emulator', '--listen', '0.0.0.0:8080', '--pages'];
  const sandbox = await startSandbox(image, { store: volume(folder, 'emulator'), args });
  await sandbox.printed('"url":"http://127.0.0.1:8080"');
  const { what, ...health } = await healthCheck(image, sandbox);
  const { stdout, stderr } = await ask(sandbox, 'http://127.0.0.1:8080/');
  const { code, log } = await sandbox.stop();
  return [
    { what: `the emulator: ${what}`, ...health },
    expects(
      'the emulator: its first page is shown',
      stdout.includes('<h1>Messages</h1>'),
      stderr || stdout.slice(0, 300),
    ),
    expects('the emulator, as process 1, ends on SIGTERM with code 0', code === 0, `code ${code}: ${log.slice(-500)}`),
  ];
}

/** Creates a folder that belongs to the daemon's user, as a volume does. */
function volume(folder: string, name: string, user = USER): string {
  const path = join(folder, name);
  mkdirSync(path);
  chownSync(path, user, user);
  return path;
}

function endsWell(who: string, code: number | undefined, log: string): Check {
  const isWell = code === 0 && log.includes('stopped by SIGTERM');
  return expects(`${who}, as process 1, ends on SIGTERM with code 0`, isWell, `code ${code}: ${log.slice(-500)}`);
}

/** HEALTHCHECK's own command. */
async function healthCheck({ config }: BuiltImage, sandbox: Sandbox): Promise<Check> {
  const [form, ...words] = config.Healthcheck.Test;
  const { code, stderr } = await sandbox.exec(words);
  return expects('the health check passes', form === 'CMD' && code === 0, `code ${code}: ${stderr}`);
}

async function metrics({ config }: BuiltImage, sandbox: Sandbox): Promise<Check> {
  const { stdout, stderr } = await ask(sandbox, 'http://127.0.0.1:10777/metrics');
  const revision = config.Labels['org.opencontainers.image.revision'] ?? '';
  const samples = stdout.split('\n').filter((line) => /^(?:opsd|msgsvc)_/.test(line));
  const isOfThisBuild = samples.some(
    (line) => line.startsWith('opsd_build_info{') && line.includes(`revision="${revision}"`),
  );
  const what = `/metrics has ${samples.length} samples, and the revision of the label`;
  return expects(what, samples.length > 100 && isOfThisBuild, stderr || stdout.slice(0, 300));
}

async function confinement(sandbox: Sandbox): Promise<Check> {
  const { stdout, stderr } = await sandbox.exec(['node', '-e', CONFINED]);
  const seen = stdout.trim();
  const expected = `uid ${USER}:${USER}, capabilities 0, root ro, may write /tmp /var/lib/opsd`;
  return expects(`in its place: ${expected}`, seen === expected, seen || stderr);
}

const CONFINED = `
const { accessSync, readFileSync, unlinkSync, writeFileSync } = require('node:fs');
const status = readFileSync('/proc/1/status', 'utf8');
const of = (name) => status.match(new RegExp('^' + name + ':\\\\s+(\\\\S+)', 'm'))[1];
const root = readFileSync('/proc/1/mounts', 'utf8').split('\\n').find((line) => line.split(' ')[1] === '/');
const may = ['/', '/tmp', '/etc', '/etc/opsd', '/opt/opsd', '/usr/local/bin', '/var/lib', '/var/lib/opsd'].filter((folder) => {
  const file = folder + '/written';
  try { writeFileSync(file, ''); unlinkSync(file); return true; } catch { return false; }
});
console.log('uid ' + of('Uid') + ':' + of('Gid') + ', capabilities ' + parseInt(of('CapEff'), 16) +
  ', root ' + root.split(' ')[3].split(',')[0] + ', may write ' + may.join(' '));
`;

/** Checks that Node has its own certificates and time zones. The image has no files of either. */
async function worldInNode(sandbox: Sandbox): Promise<Check> {
  const { stdout, stderr } = await sandbox.exec(['node', '-e', WORLD]);
  const [certificates, hours] = stdout.trim().split(' ');
  const isThere = Number(certificates) > 100 && hours === '13';
  return expects('Node knows certificates and time zones by itself', isThere, stdout || stderr);
}

const WORLD = `
const noon = new Date('2026-01-01T12:00:00Z');
const format = new Intl.DateTimeFormat('en-GB', { timeZone: 'Europe/Berlin', hour: '2-digit' });
console.log(require('node:tls').rootCertificates.length + ' ' + format.format(noon));
`;

async function noShell(sandbox: Sandbox): Promise<Check> {
  const { code } = await sandbox.exec(['/bin/sh', '-c', 'true']);
  return expects('a shell cannot be started', code === 127, `code ${code}`);
}

function ask(sandbox: Sandbox, url: string): ReturnType<Sandbox['exec']> {
  const get = `fetch('${url}').then((r) => r.text()).then((t) => process.stdout.write(t), (e) => { console.error(e); process.exitCode = 1; })`;
  return sandbox.exec(['node', '-e', get]);
}
