/** Metrics of the process and of Node.js, with prom-client's names and help texts. */
import { counter, family, gauge } from './metric-spec.ts';

const PROM_CLIENT = 'prom-client';
const UTILIZATION = 'performance.eventLoopUtilization';

export const processCatalog = family(
  { heading: 'The process', account: false },
  {
    process_cpu_seconds_total: counter([], 'seconds', PROM_CLIENT, 'Total user and system CPU time spent in seconds.'),
    process_start_time_seconds: gauge(
      [],
      'timestamp',
      PROM_CLIENT,
      'Start time of the process since unix epoch in seconds.',
    ),
    process_resident_memory_bytes: gauge([], 'bytes', PROM_CLIENT, 'Resident memory size in bytes.'),
    process_open_fds: gauge([], 'items', PROM_CLIENT, 'Number of open file descriptors.'),
    process_max_fds: gauge([], 'items', PROM_CLIENT, 'Maximum number of open file descriptors.'),
    nodejs_heap_size_total_bytes: gauge([], 'bytes', PROM_CLIENT, 'Process heap size from Node.js in bytes.'),
    nodejs_heap_size_used_bytes: gauge([], 'bytes', PROM_CLIENT, 'Process heap size used from Node.js in bytes.'),
    nodejs_external_memory_bytes: gauge([], 'bytes', PROM_CLIENT, 'Node.js external memory size in bytes.'),
    nodejs_eventloop_active_seconds_total: counter(
      [],
      'seconds',
      UTILIZATION,
      'Time that the event loop was busy, in seconds; its rate is the share of one core.',
    ),
    nodejs_eventloop_idle_seconds_total: counter(
      [],
      'seconds',
      UTILIZATION,
      'Time that the event loop was idle, in seconds.',
    ),
  },
);
