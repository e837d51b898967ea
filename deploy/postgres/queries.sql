-- Items by outcome, for a time series panel.
SELECT date_trunc('hour', time) AS time, account, outcome, sum(items) AS items
FROM opsd_views.actions
WHERE time > now() - interval '7 days'
GROUP BY 1, 2, 3
ORDER BY 1;

-- The actions of each approved plan, with the operator and the reason.
SELECT plans.id AS plan, plans.state, plans.by, plans.reason, count(actions.id) AS actions,
  count(actions.id) FILTER (WHERE actions.outcome = 'verified') AS verified
FROM plans LEFT JOIN opsd_views.actions AS actions ON actions.plan_id = plans.id
GROUP BY plans.id, plans.state, plans.by, plans.reason, plans.saved_at
ORDER BY plans.saved_at DESC;

-- The owner of each account.
SELECT leases.account, replicas.name AS owner, leases.epoch, to_timestamp(leases.owned_since / 1000.0) AS since
FROM leases LEFT JOIN replicas ON replicas.id = leases.owner
WHERE leases.account <> ''
ORDER BY leases.account;
