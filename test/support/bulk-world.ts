/** Hundreds of failed runs, each of a separate workflow, so that one run of a policy may resume them all. */
import { seededRandom } from '#foundation/platform/random.ts';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { daemonConfig, resumeBilling } from './daemon-world.ts';
import { faultProxy } from './fault-proxy.ts';
import { httpSink } from './http-sink.ts';
import { opsd } from './program.ts';
import { tempDir } from './temp-dir.ts';
import { testEmulator } from './test-emulator.ts';

export type BulkWorld = Awaited<ReturnType<typeof bulkWorld>>;
export type Instance = Awaited<ReturnType<BulkWorld['instance']>>;

export async function bulkWorld() {
  const emulator = await testEmulator({ control: true, random: seededRandom(11) });
  const destination = await httpSink();
  let made = 0;
  return {
    emulator,
    /** Destination of resumed runs; responds 200 until set otherwise. */
    destination,
    /** Prepares a daemon with a store and a proxy of its own, which resumes the runs. */
    async instance({ requestsPerSecond = 100, limits = {} }: { requestsPerSecond?: number; limits?: object } = {}) {
      const proxy = await faultProxy(emulator.url);
      const resumes: string[] = [];
      proxy.admit(async ({ method, url }) => {
        const { pathname, searchParams } = new URL(url, emulator.url);
        if (method === 'POST' && pathname === '/v2/workflows/dlq/resume')
          resumes.push(searchParams.getAll('dlqIds').join());
        return true;
      });
      const folder = tempDir();
      const config = join(folder, 'opsd.yaml');
      writeFileSync(
        config,
        daemonConfig(proxy.url, {
          log: { level: 'debug' },
          engine: { killSwitchFile: 'PAUSE' },
          account: {
            client: { requestsPerSecond },
            collectors: { logs: { enabled: false }, accountStats: { enabled: false }, urlGroups: { enabled: false } },
          },
          policies: [resumeBilling({ limits })],
        }),
      );
      return {
        folder,
        /** The dlqIds of resumes that reached the proxy, in order, whether or not they passed. */
        road: { ...proxy, resumes },
        run: (env: Record<string, string> = {}) => opsd(['run', '--config', config], { env }),
        command: async (...args: string[]) => {
          const program = opsd([...args, '--config', config]);
          const { code, stdout, stderr } = await program.output();
          return { code, stdout: stdout + stderr };
        },
      };
    },
    /** Adds runs with the label `billing` that failed an hour ago. */
    async failRuns(count: number): Promise<void> {
      const failedRuns = Array.from({ length: count }, () => ({
        url: `${destination.url}/workflow/${++made}`,
        status: 503,
        labels: ['billing'],
        agoMs: 3_600_000,
      }));
      await emulator.control.seed({ failedRuns });
    },
  };
}
