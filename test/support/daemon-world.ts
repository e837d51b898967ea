/** A world for one test of the daemon: an emulator in a separate process, a folder, a configuration. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { faultProxy, type Passed } from './fault-proxy.ts';
import { httpSink } from './http-sink.ts';
import { emulatorProgram, opsd, type Program } from './program.ts';
import { failedRuns, trigger, TEST_TOKEN, type Service } from './service.ts';
import { tempDir } from './temp-dir.ts';
import { until } from './until.ts';

export type DaemonWorld = Awaited<ReturnType<typeof daemonWorld>>;

/** Maximum concurrent requests. */
const AT_ONCE = 20;

export async function daemonWorld() {
  const emulator = await emulatorProgram();
  const service: Service = { url: emulator.url, token: TEST_TOKEN };
  const proxy = await faultProxy(emulator.url);
  const folder = tempDir();
  const destination = await httpSink((_request, response) => void response.writeHead(503).end());
  /** Writes `opsd.yaml`. Returns its path. */
  const write = (config: string): string => {
    const file = join(folder, 'opsd.yaml');
    writeFileSync(file, config);
    return file;
  };
  const run = (config: string, env: Record<string, string> = {}): Program =>
    opsd(['run', '--config', write(config)], { env });
  return {
    /** The emulator itself. */
    service,
    /** Address that the daemon uses in place of the emulator. */
    proxy,
    folder,
    /** Destination of messages and runs; responds 503 until set otherwise. */
    destination,
    write,
    /** Writes the configuration and starts `opsd run` on it. */
    run,
    /** Does the same, and waits until the daemon serves. */
    async start(config: string, env: Record<string, string> = {}) {
      const daemon = run(config, env);
      return { daemon, url: await addressOf(daemon) };
    },
    /** Runs a command with the configuration to its end. */
    command: (...args: readonly string[]) => opsd([...args, '--config', join(folder, 'opsd.yaml')]).output(),
    /** Returns the dlqIds of the daemon's resumes that reached the proxy, in order. */
    resumes: (): readonly string[] =>
      proxy.passed
        .filter(isResume)
        .map(({ url }) => new URL(url, 'http://service').searchParams.getAll('dlqIds').join()),
    /** Triggers runs that fail at once, each of a separate workflow. Waits until they are in the workflow DLQ. */
    async failRuns(count: number, label: string) {
      const already = (await failedRuns(service)).length;
      for (let first = 0; first < count; first += AT_ONCE) {
        const runs = Array.from({ length: Math.min(AT_ONCE, count - first) }, (_, n) => already + first + n);
        const headers = { 'Svc-Retries': '0', 'Svc-Label': label };
        await Promise.all(runs.map((run) => trigger(service, `${destination.url}/workflow/${run}`, headers)));
      }
      await until(
        { what: `${count} runs have failed` },
        async () => (await failedRuns(service)).length === already + count,
      );
    },
  };
}

export const isResume = ({ method, url }: Passed): boolean =>
  method === 'POST' && url.startsWith('/v2/workflows/dlq/resume');

/** Returns the address of a running daemon. */
export async function addressOf(daemon: Program): Promise<string> {
  return String((await daemon.logged('daemon running'))['url']);
}

export interface DaemonSettings {
  /** Settings of the account. */
  readonly account?: object;
  readonly policies?: readonly object[];
  readonly [section: string]: unknown;
}

/** Returns a configuration with one account of the service at this address. Given sections replace those here. */
export function daemonConfig(url: string, { account, ...sections }: DaemonSettings = {}): string {
  // JSON is YAML.
  return JSON.stringify(
    {
      server: { listen: '127.0.0.1:0' },
      storage: { sqlite: { path: 'opsd.db' } },
      accounts: [{ name: 'production', messageApi: { url, token: TEST_TOKEN }, ...account }],
      ...sections,
    },
    undefined,
    2,
  );
}

/** Management API of the account, at the same address. */
export const managementAt = (url: string) => ({ url, accountId: 'acc-1', username: 'user', password: 'password' });

/** Settings of an account for tests that wait for its readings. */
export const QUICK = {
  client: { requestsPerSecond: 100 },
  collectors: { logs: { every: '1s', lag: '1s' }, workflowDlq: { every: '1s', full: '10s' } },
};

/** Returns a policy that resumes runs with the label `billing`. */
export function resumeBilling(over: object = {}): object {
  return {
    name: 'resume-billing',
    account: 'production',
    mode: 'enforce',
    every: '1s',
    select: { resource: 'workflow-dlq', anyLabel: ['billing'] },
    action: { type: 'workflow-dlq.resume', retries: 0 },
    ...over,
  };
}

/**
 * Returns a configuration with an account over the proxy, short intervals, and a policy that resumes runs with the
 * label `billing`.
 */
export function repairConfig(
  world: Pick<DaemonWorld, 'proxy'>,
  policy: { readonly mode: string; readonly every: string },
): string {
  return `
server: { listen: "127.0.0.1:0" }
storage: { sqlite: { path: opsd.db } }
accounts:
  - name: production
    messageApi: { url: "${world.proxy.url}", token: ${TEST_TOKEN} }
    client: { requestsPerSecond: 100 }
    collectors: { logs: { every: 1s, lag: 1s }, workflowDlq: { every: 1s, full: 10s } }
telemetry: { metrics: { newSeriesZeroFor: 0s } }
policies:
  - name: resume-billing
    account: production
    mode: ${policy.mode}
    every: ${policy.every}
    select: { resource: workflow-dlq, anyLabel: [billing] }
    action: { type: workflow-dlq.resume, retries: 0 }
    ramp: { settle: 1s }
`;
}
