/** Recorded series and alerts about replicas, which share the accounts. Without PostgreSQL they have no samples. */
import {
  ACCOUNTS_OF_REPLICA,
  COUNTED,
  OTHER_OWNER,
  EPOCH,
  lastingLabels,
  OWNED_ACCOUNTS,
  ownerSeries,
} from '../owner.ts';
import { promql, type AlertGroup, type RecordingGroup } from '../rule.ts';
import { THRESHOLDS } from '../thresholds.ts';

const T = THRESHOLDS.replicas;

export const ownershipRecording: RecordingGroup = {
  name: 'opsd-ownership-recording',
  interval: '30s',
  rules: [
    { record: OTHER_OWNER, expr: 'opsd_lease_owner == 0 and on (job, account) opsd_lease_owner == 1' },
    { record: ACCOUNTS_OF_REPLICA, expr: 'sum by (job, instance) (opsd_lease_owner)' },
    // For a moment after a takeover, both owners have a 1.
    { record: OWNED_ACCOUNTS, expr: 'sum by (job) (max by (job, account) (opsd_lease_owner))' },
    { record: EPOCH, expr: 'max by (job, account) (opsd_lease_epoch)' },
  ],
};

/** Stored counters of the owners, which continue after a takeover. */
export const ownerRecording: RecordingGroup = {
  name: 'opsd-owner-recording',
  interval: '30s',
  rules: COUNTED.map((series) => ({
    record: ownerSeries(series),
    expr: `max by (${lastingLabels(series).join(', ')}) (${series} and on (job, instance, account) opsd_lease_owner == 1)`,
  })),
};

export const replicaAlerts: AlertGroup = {
  name: 'opsd-replicas',
  rules: [
    {
      alert: 'OpsdStoreUnreachable',
      expr: `${OWNED_ACCOUNTS} == 0`,
      for: '2m',
      severity: 'critical',
      area: 'daemon',
      summary: '{{ $labels.job }}: no replica owns an account for over 2 min',
      description:
        'The replicas cannot extend their leases. Counters do not advance, and policies do nothing. Nothing is lost. Check whether PostgreSQL accepts connections and writes.',
    },
    {
      alert: 'OpsdAccountUnowned',
      // If no account has an owner, OpsdStoreUnreachable fires instead.
      expr: promql`
        max by (job, account) (opsd_lease_owner) == 0
        unless on (job) ${OWNED_ACCOUNTS} == 0`,
      for: '2m',
      severity: 'critical',
      area: 'daemon',
      summary: '{{ $labels.account }}: no replica owns the account for over 2 min',
      description:
        'The account is not observed, and nothing is repaired. Other accounts have an owner, so the store works. Read the log of the replicas for the account.',
    },
    {
      alert: 'OpsdLeaseFlapping',
      expr: `max_over_time(${EPOCH}[1h]) - min_over_time(${EPOCH}[1h]) >= ${T.takeovers}`,
      for: '5m',
      severity: 'warning',
      area: 'daemon',
      extended: true,
      summary: `{{ $labels.account }}: {{ $value | humanize }} takeovers in 1 h (limit ${T.takeovers - 1})`,
      description:
        'Replicas repeatedly lose the lease or restart. At each takeover, policies wait for their first readings. Look for restarts, pauses of the process, and a slow database.',
    },
  ],
};
