/** Table of all dashboards. Add a new one here; `npm run dashboards` renders it. */
import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import { daemon } from './daemon.ts';
import { deliveries } from './deliveries.ts';
import { dlq } from './dlq.ts';
import { flowControl } from './flow-control.ts';
import { overview } from './overview.ts';
import { policiesDashboard } from './policies.ts';
import { search } from './search.ts';
import { spend } from './spend.ts';
import { workflows } from './workflows.ts';

/** Dashboards by uid, which is also the file name. */
export const dashboards: readonly Dashboard[] = [
  overview,
  deliveries,
  dlq,
  workflows,
  flowControl,
  spend,
  search,
  policiesDashboard,
  daemon,
];
