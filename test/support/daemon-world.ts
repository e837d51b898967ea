/** A world for one test of the daemon: an emulator in a separate process, a folder, a configuration. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { faultProxy } from './fault-proxy.ts';
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
    run: (config: string, env: Record<string, string> = {}) => opsd(['run', '--config', write(config)], { env }),
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

/** Returns the address of a running daemon. */
export async function addressOf(daemon: Program): Promise<string> {
  return String((await daemon.logged('daemon running'))['url']);
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
