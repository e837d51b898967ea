/** Projects flow-control keys to gauges. */
import type { Project } from './projection.ts';
import { flag, seconds } from './values.ts';

export const projectFlowControl: Project<'flowControl'> = ({ account, rows }, put) => {
  for (const row of rows) {
    const labels = { account, flow_control_key: row.flowControlKey };
    put('msgsvc_flow_control_waitlist_messages', labels, row.waitListSize);
    put('msgsvc_flow_control_parallelism_limit', labels, row.parallelismMax);
    put('msgsvc_flow_control_parallelism_in_use', labels, row.parallelismCount);
    put('msgsvc_flow_control_rate_limit_messages', labels, row.rateMax);
    put('msgsvc_flow_control_rate_used_messages', labels, row.rateCount);
    put('msgsvc_flow_control_rate_period_seconds', labels, row.ratePeriod);
    put('msgsvc_flow_control_rate_period_start_timestamp_seconds', labels, seconds(row.ratePeriodStart));
    put('msgsvc_flow_control_parallelism_pinned', labels, flag(row.isPinnedParallelism));
    put('msgsvc_flow_control_rate_pinned', labels, flag(row.isPinnedRate));
    put('msgsvc_flow_control_paused', labels, flag(row.isPaused));
  }
  const discovered = rows.filter(({ isDiscovered }) => isDiscovered).length;
  put('msgsvc_flow_control_keys', { account, origin: 'configured' }, rows.length - discovered);
  put('msgsvc_flow_control_keys', { account, origin: 'discovered' }, discovered);
};
