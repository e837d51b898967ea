/** All groups of rules, in the order of rendering. */
import type { AlertGroup, RecordingGroup } from './rule.ts';
import { apiAlerts } from './rules/api.ts';
import { automationAlerts } from './rules/automation.ts';
import { canaryAlerts } from './rules/canary.ts';
import { collectorAlerts } from './rules/collectors.ts';
import { daemonAlerts } from './rules/daemon.ts';
import { deliveryAlerts } from './rules/deliveries.ts';
import { deliveryRecording, deliveryRecordingLong } from './rules/delivery-recording.ts';
import { dlqAlerts, dlqRecording } from './rules/dlq.ts';
import { flowControlAlerts } from './rules/flow-control.ts';
import { latencyAlerts, latencyRecording } from './rules/latency.ts';
import { ownerRecording, ownershipRecording, replicaAlerts } from './rules/replicas.ts';
import { searchAlerts, searchRecording } from './rules/search.ts';
import { spendAlerts, spendRecording } from './rules/spend.ts';

export const RECORDING_GROUPS: readonly RecordingGroup[] = [
  ownershipRecording,
  ownerRecording,
  deliveryRecording,
  deliveryRecordingLong,
  latencyRecording,
  dlqRecording,
  spendRecording,
  searchRecording,
];

export const ALERT_GROUPS: readonly AlertGroup[] = [
  deliveryAlerts,
  latencyAlerts,
  dlqAlerts,
  flowControlAlerts,
  spendAlerts,
  searchAlerts,
  apiAlerts,
  canaryAlerts,
  collectorAlerts,
  automationAlerts,
  daemonAlerts,
  replicaAlerts,
];
