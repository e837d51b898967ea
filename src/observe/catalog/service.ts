/** Metrics of an account at the service (`msgsvc_*`). Every series has the label `account`. */
import { accountLimits, accountStats, accountTotals, urlGroups } from './account.ts';
import { canaries } from './canary.ts';
import { flowControl } from './flow-control.ts';
import { searchIndexes, vectorStats, vectorTotals } from './index.ts';
import { logs, openMessages } from './logs.ts';
import { workflowDlq } from './workflow-dlq.ts';
import { family, gauge } from './metric-spec.ts';

const up = family(
  { heading: 'The service', account: true },
  {
    msgsvc_up: gauge(
      ['api'],
      'flag',
      'responses',
      '1 if the last successful API request is at most two intervals old, else 0. Absent if no collector uses the API.',
    ),
  },
);

export const serviceCatalog = {
  ...up,
  ...logs,
  ...openMessages,
  ...workflowDlq,
  ...flowControl,
  ...urlGroups,
  ...accountStats,
  ...accountTotals,
  ...accountLimits,
  ...searchIndexes,
  ...vectorStats,
  ...vectorTotals,
  ...canaries,
} as const;
