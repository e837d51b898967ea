/** The process as metrics: an own short list, since the registry's default one does not pass Prometheus' naming rules. */
import { readFileSync, readdirSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import type { GaugeName } from '../catalog/catalog.ts';
import type { Families } from './families.ts';

const GAUGES = [
  'process_resident_memory_bytes',
  'process_open_fds',
  'process_max_fds',
  'nodejs_heap_total_bytes',
  'nodejs_heap_used_bytes',
  'nodejs_external_memory_bytes',
] as const satisfies readonly GaugeName[];

/** @returns a function that brings the metrics of the process up to date, without awaiting */
export function createProcessStats(families: Families): () => void {
  const maxFds = openFilesLimit();
  const counted = { cpu: 0, active: 0, idle: 0 };
  // The same for as long as the process lives, whatever becomes of the clock: a change of it is a restart.
  families.set('process_start_time_seconds', {}, performance.timeOrigin / 1_000);

  function count(what: keyof typeof counted, totalSeconds: number): number {
    const by = Math.max(0, totalSeconds - counted[what]);
    counted[what] += by;
    return by;
  }

  return () => {
    const cpu = process.cpuUsage();
    const loop = performance.eventLoopUtilization();
    const memory = process.memoryUsage();
    families.add('process_cpu_seconds_total', {}, count('cpu', (cpu.user + cpu.system) / 1e6));
    families.add('nodejs_eventloop_active_seconds_total', {}, count('active', loop.active / 1_000));
    families.add('nodejs_eventloop_idle_seconds_total', {}, count('idle', loop.idle / 1_000));
    const { put, samples } = families.collect('process');
    put('process_resident_memory_bytes', {}, memory.rss);
    put('process_open_fds', {}, openFiles());
    put('process_max_fds', {}, maxFds);
    put('nodejs_heap_total_bytes', {}, memory.heapTotal);
    put('nodejs_heap_used_bytes', {}, memory.heapUsed);
    put('nodejs_external_memory_bytes', {}, memory.external);
    families.exchange(GAUGES, [samples]);
  };
}

function openFiles(): number | undefined {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return undefined;
  }
}

function openFilesLimit(): number | undefined {
  try {
    const soft = /^Max open files\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return soft === 'unlimited' ? Infinity : soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}
