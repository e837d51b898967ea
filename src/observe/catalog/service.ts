/** `msgsvc_*`: what the service says of an account. Every series carries `account`. */
import { accountLimits, accountStats, accountTotals, urlGroups } from './account.ts';
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
      'answers',
      'Whether the API answered well, with valid credentials, within the last two intervals, 1 or 0; absent when nothing asks it.',
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
} as const;
