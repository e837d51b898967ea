/** Alerts about flow-control keys that let messages wait. */
import { latest, promql, type AlertGroup } from '../rule.ts';
import { THRESHOLDS } from '../thresholds.ts';

const { saturatedRatio, pausedBacklogMessages } = THRESHOLDS.flowControl;

const KEY = 'account, flow_control_key';
const WAITING = 'msgsvc_flow_control_waitlist_messages';

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
      summary: 'Flow-control key {{ $labels.flow_control_key }} of {{ $labels.account }} is paused, and messages wait.',
      description: '{{ $value | humanize }} messages wait. They are delivered only when somebody resumes the key.',
    },
    {
      alert: 'MsgsvcFlowControlSaturated',
      // A list that gets shorter is a burst that is worked off, which is what limits are for. Two daemons over one account
      // each see the whole time.
      expr: promql`
        max by (${KEY}) (
          sum without (constraint) (rate(msgsvc_flow_control_saturated_seconds_total{constraint=~"parallelism|rate"}[30m]))
        ) >= ${saturatedRatio}
        and ${latest(WAITING, KEY)} >= ${latest(WAITING, KEY, '30m')}`,
      for: '15m',
      severity: 'warning',
      area: 'flow-control',
      summary: 'Flow-control key {{ $labels.flow_control_key }} of {{ $labels.account }} lets less through than comes.',
      description:
        'Messages waited for its limit {{ $value | humanizePercentage }} of the last half hour, and their number does not fall.',
    },
  ],
};
