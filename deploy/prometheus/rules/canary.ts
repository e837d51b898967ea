/** Alert about canaries: messages that the daemon sends to itself through the service. */
import { counted } from '../owner.ts';
import { promql, type AlertGroup } from '../rule.ts';
import { THRESHOLDS } from '../thresholds.ts';

const { failedShare, window, unknownWindow } = THRESHOLDS.canary;

/** Samples of verdicts within a window, by labels. Without scrapes there are fewer of all verdicts, so shares stay. */
const samples = (labels: string, matchers: string, window: string): string =>
  counted('count_over_time', 'msgsvc_canary_verdict_info', labels, { window, matchers });

const OF_CANARY = 'account, canary';
const FAILED = '{verdict!~"ok|unknown"}';
const UNKNOWN = '{verdict="unknown"}';

export const canaryAlerts: AlertGroup = {
  name: 'msgsvc-canary',
  rules: [
    {
      alert: 'MsgsvcCanaryFailing',
      // The label verdict is the most frequent one of the window, so that an alert keeps its labels while verdicts change.
      // An unknown verdict is no failure. If it lasts, the canary sees nothing; a new canary has none at first.
      expr: promql`
        topk by (${OF_CANARY}) (1, ${samples(`${OF_CANARY}, verdict`, FAILED, window)})
        and on (${OF_CANARY})
        ${samples(OF_CANARY, FAILED, window)}
          / ${samples(OF_CANARY, '{verdict!="unknown"}', window)} > ${failedShare}
        or
        ${samples(`${OF_CANARY}, verdict`, UNKNOWN, unknownWindow)}
        and on (${OF_CANARY})
        ${samples(OF_CANARY, UNKNOWN, unknownWindow)}
          / ${samples(OF_CANARY, '', unknownWindow)} > ${failedShare}
        and on (${OF_CANARY})
        max by (${OF_CANARY}) (last_over_time(msgsvc_canary_verdict_info[${window}] offset ${unknownWindow}))`,
      for: '2m',
      severity: 'warning',
      area: 'canary',
      summary: '{{ $labels.account }}: canary {{ $labels.canary }} does not succeed: {{ $labels.verdict }}',
      description:
        'The verdict says who must act. service, service_reporting: the provider. account, throttled: you, in the settings of the account. network, receiver: you, on the way to the hooks. Read the reason on the page Canaries.',
    },
  ],
};
