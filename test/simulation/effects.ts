/** Checks of the effects of the daemon: the service's own record of writes against the ledger. */
import { CAPS } from './config.ts';
import type { Sent } from './service.ts';
import type { Books } from './subject.ts';
import { none, Violation } from './violation.ts';

const HOUR = 3_600_000;
/** The window contains the intent, which is before its request, on a clock that may be set. */
const SLACK = 90_000;
const WITHOUT_EFFECT = new Set<string | null>(['rejected', 'confirmed_not_applied']);

interface Act {
  readonly action: string;
  readonly target: string;
  readonly at: number;
  readonly active: number;
  readonly outcome: string | null;
}

interface Kind {
  readonly action: string;
  readonly method: string;
  readonly path: string;
  readonly caps: { readonly hour: number; readonly day: number };
  /** Maximum requests of one intent. */
  readonly requests: number;
}

const KINDS: readonly Kind[] = [
  {
    action: 'workflow-dlq.resume',
    method: 'POST',
    path: '/v2/workflows/dlq/resume',
    caps: CAPS.resume,
    requests: 1,
  },
  { action: 'workflow-dlq.delete', method: 'DELETE', path: '/v2/workflows/dlq', caps: CAPS.runDelete, requests: 1 },
  // The delete of one message by its id is repeated after an unknown outcome: it has no further effect.
  { action: 'message-dlq.delete', method: 'DELETE', path: '/v2/dlq', caps: CAPS.messageDelete, requests: Infinity },
];

const idsOf = (path: string): readonly string[] =>
  new URL(path, 'http://service').searchParams.getAll('dlqIds').flatMap((ids) => ids.split(','));

function kindOf(method: string, path: string): Kind {
  const kind = KINDS.find((one) => one.method === method && one.path === path.split('?')[0]);
  if (kind === undefined) throw new Violation('the daemon sends only what its policies may', `${method} ${path}`);
  return kind;
}

/** Checks a write that the daemon is about to send, with the store as it is durable now. */
export function checkIntent(db: Books, requestLine: string): void {
  const [method = '', path = ''] = requestLine.split(' ');
  const { action } = kindOf(method, path);
  if (db.isTransaction)
    throw new Violation('no effect without a durable intent', `${requestLine} within a transaction`);
  const known = db.prepare(
    `SELECT id FROM intents WHERE action = ? AND target = ? AND active = 1
     AND id NOT IN (SELECT intent_id FROM outcomes WHERE outcome IN ('verified', 'failed_again'))`,
  );
  const ids = idsOf(path);
  none(
    'no effect without a durable intent',
    ids.length === 0 ? [requestLine] : ids.filter((id) => !known.get(action, id)),
  );
}

/** Checks all effects after the end. */
export function checkEffects(sent: readonly Sent[], db: Books): void {
  const acts = db
    .prepare(
      `SELECT action, target, at, active,
         (SELECT outcome FROM outcomes WHERE intent_id = intents.id ORDER BY id DESC LIMIT 1) AS outcome
       FROM intents ORDER BY id`,
    )
    .all() as unknown as Act[];
  const byKind = Map.groupBy(sent, ({ method, path }) => kindOf(method, path));
  for (const [kind, requests] of byKind) {
    const own = acts.filter(({ action }) => action === kind.action);
    checkTargets(kind, requests, own);
    checkCaps(kind, requests, own);
  }
  none(
    'an action counts until it is proven to have had no effect',
    acts.filter(({ active, outcome }) => (active === 1) === WITHOUT_EFFECT.has(outcome)),
  );
  none(
    'every request has an outcome',
    acts.filter(({ outcome }) => outcome === null),
  );
}

const isDone = ({ status }: Sent): boolean => status === 200;

function checkTargets({ action, requests: most }: Kind, sent: readonly Sent[], acts: readonly Act[]): void {
  const intents = Map.groupBy(acts, ({ target }) => target);
  for (const [id, same] of Map.groupBy(sent, ({ path }) => idsOf(path).join())) {
    const of = intents.get(id) ?? [];
    const claims = of.filter(({ active }) => active === 1);
    const done = same.filter(isDone);
    const facts = { action, id, requests: same.map(({ at, status, lost }) => ({ at, status, lost })), intents: of };
    if (done.length > most) throw new Violation('no act twice on a target', facts);
    if (same.length > most * of.length) throw new Violation('one request for each intent', facts);
    if (claims.length > 1) throw new Violation('one claim on a target', facts);
    if (done.length > 0 && claims.length === 0) throw new Violation('no effect without a durable intent', facts);
  }
}

function checkCaps({ action, caps }: Kind, sent: readonly Sent[], acts: readonly Act[]): void {
  const times = [...Map.groupBy(sent.filter(isDone), ({ path }) => idsOf(path).join())].map(([id, [first]]) => {
    // A repeated delete counts in the window of its intent.
    const intent = acts.find(({ target, active }) => target === id && active === 1);
    return action === 'message-dlq.delete' ? (intent?.at ?? first!.at) : first!.at;
  });
  for (const [windowMs, limit] of [
    [HOUR, caps.hour],
    [24 * HOUR, caps.day],
  ] as const) {
    for (const first of times) {
      const inWindow = times.filter((at) => at >= first && at < first + windowMs - SLACK).length;
      if (inWindow > limit) {
        const facts = { action, windowMs, limit, from: new Date(first).toISOString(), effects: inWindow };
        throw new Violation('no cap exceeded', facts);
      }
    }
  }
}
