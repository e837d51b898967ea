/** All routes of the API, in the groups of its document. A generated client has one module for each group. */
import { getAuditHead, getAudit, getAuditVerification } from './audit.ts';
import { adoptState, backupState, callOperation, pauseEngine, reload, resetCounter, unpauseEngine } from './control.ts';
import { getDeadLetter, retriggerRun, searchDeadLetters } from './dead-letters.ts';
import { reportDeploy } from './deploys.ts';
import { getHistory } from './history.ts';
import { acknowledgeIncident, getIncident, listIncidents, snoozeIncident } from './incidents.ts';
import { getMessage, searchMessages } from './messages.ts';
import { postApply, postApprove, postCancel, getPlan, listPlans, postPlan, postReject } from './plans.ts';
import { postExplain, getAction, getPolicy, listActions, listPolicies, listRuns } from './policies.ts';
import { getSpend, listCanaries, listFlowControl } from './readings.ts';
import { getConfiguration, getOpenApi, getStatus, listConditions, listLabels, listSources } from './status.ts';

export const GROUPS = [
  {
    name: 'state',
    description: 'State of the daemon and of what it reads.',
    routes: [
      getStatus,
      listSources,
      listConditions,
      listLabels,
      listFlowControl,
      listCanaries,
      getSpend,
      getHistory,
      getConfiguration,
      getOpenApi,
    ],
  },
  {
    name: 'policies',
    description: 'Policies, their runs, and their actions.',
    routes: [listPolicies, getPolicy, listRuns, listActions, getAction],
  },
  {
    name: 'plans',
    description: 'Plans, and decisions about them.',
    routes: [listPlans, getPlan, postPlan, postCancel, postApply, postApprove, postReject],
  },
  {
    name: 'failures',
    description: 'Incidents, dead letters, and messages.',
    routes: [
      listIncidents,
      getIncident,
      acknowledgeIncident,
      snoozeIncident,
      searchDeadLetters,
      getDeadLetter,
      retriggerRun,
      searchMessages,
      getMessage,
      postExplain,
    ],
  },
  { name: 'audit', description: 'The audit log.', routes: [getAuditHead, getAudit, getAuditVerification] },
  {
    name: 'control',
    description: 'Pauses, the store, and reloads.',
    routes: [pauseEngine, unpauseEngine, reportDeploy, backupState, adoptState, resetCounter, reload],
  },
  { name: 'operations', description: 'Operations of the service.', routes: [callOperation] },
] as const;

type Route = (typeof GROUPS)[number]['routes'][number];

/** Routes by method and path. Commands need only these types, and load none of the schemas. */
export type Routes = { readonly [R in Route as R['key']]: R };
