/** Alerts about flow-control keys that make messages wait. */
import { ownerSeries } from '../owner.ts';
import { latest, percent, promql, type AlertGroup } from '../rule.ts';
import { THRESHOLDS } from '../thresholds.ts';

const { saturatedRatio, pausedBacklogMessages } = THRESHOLDS.flowControl;

const KEY = 'account, flow_control_key';
const WAITING = 'msgsvc_flow_control_waitlist_messages';
const SATURATED = 'msgsvc_flow_control_saturated_seconds_total';

/** Share of the time. Two daemons on one account each report the whole time, hence the maximum. */
const saturated = (series: string): string =>
  `max by (${KEY}) (sum without (constraint) (rate(${series}{constraint=~"parallelism|rate"}[30m])))`;

export const flowControlAlerts: AlertGroup = {
  name: 'msgsvc-flow-control',
  rules: [
    {
      alert: 'MsgsvcFlowControlPaused',
      expr: promql`
        ${latest(WAITING, KEY)} >= ${pausedBacklogMessages}
        and ${latest('msgsvc_flow_control_paused', KEY)} == 1`,
      for: '15m',
      severity: 'warning',
      area: 'flow-control',
      extended: true,
      summary: `{{ $labels.account }}: {{ $value | humanize }} messages wait for paused {{ $labels.flow_control_key }} (limit ${pausedBacklogMessages - 1})`,
      description:
        'The messages are delivered only when someone resumes the flow-control key. Ask why it was paused, then resume it.',
    },
    {
      alert: 'MsgsvcFlowControlSaturated',
      // A waitlist that shrinks is a burst within its limit and does not fire.
      expr: promql`
        (${saturated(ownerSeries(SATURATED))} or ${saturated(SATURATED)}) >= ${saturatedRatio}
        and ${latest(WAITING, KEY)} >= ${latest(WAITING, KEY, { offset: '30m' })}`,
      for: '15m',
      severity: 'warning',
      area: 'flow-control',
      extended: true,
      summary: `{{ $labels.account }}: {{ $labels.flow_control_key }} saturated {{ $value | humanizePercentage }} of 30 min (limit ${percent(saturatedRatio)})`,
      description:
        'Messages wait for the limit of this flow-control key, and their number does not fall. Check whether the destination is slow, or raise the limit.',
    },
  ],
};
