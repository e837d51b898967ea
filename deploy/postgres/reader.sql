-- A role that can only read, and a view with one row for each action: docs/replicas.md. Times are milliseconds since 1970.
CREATE ROLE opsd_reader LOGIN PASSWORD 'PASSWORD';
GRANT USAGE ON SCHEMA public TO opsd_reader;
GRANT SELECT ON runs, plans, intents, outcomes, pauses, leases, replicas TO opsd_reader;

-- In a schema of its own, because the daemon owns the other one. An upgrade may change tables: create the view again.
CREATE SCHEMA opsd_views;
CREATE VIEW opsd_views.actions AS
  SELECT intents.id, to_timestamp(intents.at / 1000.0) AS time, intents.account, intents.policy, intents.action,
    intents.target, intents.group_name, intents.items, runs.plan_id, runs.cause, coalesce(last.outcome, 'pending') AS outcome,
    last.detail
  FROM intents
    JOIN runs ON runs.id = intents.run_id
    LEFT JOIN LATERAL (
      SELECT outcome, detail FROM outcomes WHERE outcomes.intent_id = intents.id ORDER BY outcomes.id DESC LIMIT 1
    ) AS last ON true;
GRANT USAGE ON SCHEMA opsd_views TO opsd_reader;
GRANT SELECT ON opsd_views.actions TO opsd_reader;
