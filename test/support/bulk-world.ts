/** Hundreds of failed runs, each of a separate workflow, so that one run of a policy may resume them all. */
import { seededRandom } from '#foundation/platform/random.ts';
import { faultProxy, type FaultProxy } from './fault-proxy.ts';
import { httpSink } from './http-sink.ts';
import { testEmulator } from './test-emulator.ts';

export type BulkWorld = Awaited<ReturnType<typeof bulkWorld>>;

export interface Road extends FaultProxy {
  /** The dlqIds of resumes that reached the proxy, in order, whether or not they passed. */
  readonly resumes: readonly string[];
}

export async function bulkWorld() {
  const emulator = await testEmulator({ control: true, random: seededRandom(11) });
  const destination = await httpSink();
  let made = 0;
  return {
    emulator,
    /** Destination of resumed runs; responds 200 until set otherwise. */
    destination,
    /** Creates a proxy to the service for each daemon. */
    async road(): Promise<Road> {
      const proxy = await faultProxy(emulator.url);
      const resumes: string[] = [];
      proxy.admit(async ({ method, url }) => {
        const { pathname, searchParams } = new URL(url, emulator.url);
        if (method === 'POST' && pathname === '/v2/workflows/dlq/resume')
          resumes.push(searchParams.getAll('dlqIds').join());
        return true;
      });
      return { ...proxy, resumes };
    },
    /** Adds runs with the label `billing` that failed an hour ago. */
    failRuns(count: number): void {
      const failedRuns = Array.from({ length: count }, () => ({
        url: `${destination.url}/workflow/${++made}`,
        status: 503,
        labels: ['billing'],
        agoMs: 3_600_000,
      }));
      emulator.control.seed({ failedRuns });
    },
  };
}
