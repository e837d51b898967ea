/** Defects of the daemon. The simulation finds each of them within `within` histories from seed 1 on. */
import type { Mutant } from './hooks.ts';

export const MUTANTS: Readonly<Record<string, Mutant & { readonly within: number }>> = {
  'intent-after-effect': {
    breaks: 'the request is sent before its intent is durable',
    within: 1,
    file: 'src/automate/engine/act/perform-one.ts',
    from: '    const intent = await reserve(policy, run, target, deps);',
    to: `    await deps.actions.act(deps.actions.describe(target, { instance: deps.ledger.instance })).catch(() => undefined);
    const intent = await reserve(policy, run, target, deps);`,
  },
  'write-retried': {
    breaks: 'a write without a response is sent again',
    within: 10,
    file: 'src/service/connection.ts',
    from: '    return this.#attempt(call, signal);\n  }\n\n  usage()',
    to: '    return this.#attempt(call, signal).catch(() => this.#attempt(call, signal));\n  }\n\n  usage()',
  },
  'lost-is-unsent': {
    breaks: 'a request whose response was lost counts as never sent',
    within: 10,
    file: 'src/service/transport.ts',
    from: '        sent = true;',
    to: '        sent = false;',
  },
  'unknown-frees-claim': {
    breaks: 'an unknown outcome releases the claim on its target',
    within: 5,
    file: 'src/storage/ledger-intents.ts',
    from: "new Set(['rejected', 'confirmed_not_applied'])",
    to: "new Set(['rejected', 'confirmed_not_applied', 'unknown'])",
  },
  'cap-not-taken': {
    breaks: 'an intent takes no place in its caps',
    within: 3,
    file: 'src/storage/ledger-intents.ts',
    from: '        yield* caps.take(proposal, at);',
    to: '',
  },
  'intents-abandoned': {
    breaks: 'an intent that a crash interrupted never gets an outcome',
    within: 10,
    file: 'src/automate/engine/settle/settle.ts',
    from: "    if (await record(intent, 'unknown', deps, why)) abandoned++;",
    to: '    abandoned++;',
  },
  'watermark-outside': {
    breaks: 'the watermark is committed in another transaction than the counts',
    within: 3,
    file: 'src/storage/log-aggregation-store.ts',
    from: `            yield* save(commit, known);
            for`,
    to: `            for`,
  },
  'keys-not-stored': {
    breaks: 'the keys of counted entries are lost in a crash',
    within: 3,
    file: 'src/storage/log-aggregation-store.ts',
    from: "    yield* saveKeys(commit, 'seen', memory.seen.sliceMs);\n",
    to: '',
  },
  'open-not-stored': {
    breaks: 'messages in flight are lost in a crash',
    within: 3,
    file: 'src/storage/log-aggregation-store.ts',
    from: 'return [account, messageId, expires, destination, createdAt, dueAt, record];\n      }),',
    to: 'return [account, messageId, expires, destination, createdAt, dueAt, record];\n      }).slice(1),',
  },
  'points-not-stored': {
    breaks: 'the counted points of the statistics are lost in a crash',
    within: 1,
    file: 'src/storage/series-store.ts',
    from: 'const work = each(PUT, records,',
    to: 'const work = each(PUT, records.slice(1),',
  },
  'entered-runs-not-stored': {
    breaks: 'runs that have entered the DLQ are counted again after a crash',
    within: 1,
    file: 'src/storage/workflow-dlq-store.ts',
    from: 'const runs = new Map(changed.map((one) => [one.dlqId, one]));',
    to: 'const runs = new Map(changed.slice(1).map((one) => [one.dlqId, one]));',
  },
  'memory-before-commit': {
    breaks: 'counts are reported before their commit',
    within: 3,
    file: 'src/storage/totals.ts',
    from: '    try {\n      await transaction(account, function* () {\n        for (const job',
    to: `    for (const report of feeds.get(account) ?? []) report({ account, increments, histograms });
    try {
      await transaction(account, function* () {
        for (const job`,
  },
  'audit-head-late': {
    breaks: 'the store does not know the last record of the audit log',
    within: 20,
    file: 'src/storage/ledger-journal.ts',
    from: '      yield* saveHead(told);',
    to: "      if (entry.type !== 'outcome') yield* saveHead(told);",
  },
  'record-of-failed-commit': {
    breaks: 'the audit log does not say that a commit failed',
    within: 3,
    file: 'src/storage/ledger-journal.ts',
    from: '      if (told !== undefined) due.push({ type: NOT_COMMITTED, record: told.sequence });',
    to: '',
  },
  'notifications-unsaved': {
    breaks: 'a notification that is not delivered yet is lost in a crash',
    within: 5,
    file: 'src/operate/notifications/notification-book.ts',
    from: '      void this.save();',
    to: '',
  },
  'store-unlocked': {
    breaks: 'a second daemon opens the store of a running one',
    within: 5,
    file: 'src/storage/sqlite.ts',
    from: "db.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; ROLLBACK');",
    to: '',
  },
};
