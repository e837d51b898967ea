/** Checks of the effects of the daemon: the service's own record of writes against the ledger. */
import { actOf, formOf, type Act, type Form } from './forms.ts';
import { POLICIES } from './policies.ts';
import type { Sent } from './service.ts';
import type { Books } from './subject.ts';
import { none, Violation } from './violation.ts';

const HOUR = 3_600_000;
/** The window contains the intent, which is before its request, on a clock that may be set. */
const SLACK = 90_000;
const WITHOUT_EFFECT = new Set<string | null>(['rejected', 'confirmed_not_applied']);
/** Last outcomes after which an action sends nothing any more, other than deletes after a delivery. */
const FINAL = new Set(['verified', 'failed_again', 'unresolvable', 'unverified']);

const ACTS = `
  SELECT id, policy, action, target, at, active, items, lineage, proposal,
    (SELECT outcome FROM outcomes WHERE intent_id = intents.id ORDER BY id DESC LIMIT 1) AS outcome
  FROM intents`;

/** Checks a write that the daemon is about to send, with the store as it is durable now. */
export function checkIntent(db: Books, sent: Pick<Sent, 'method' | 'path' | 'headers'>): void {
  const line = `${sent.method} ${sent.path}`;
  if (db.isTransaction) throw new Violation('no effect without a durable intent', `${line} within a transaction`);
  const form = formOf(sent);
  if (form === 'of no policy') return;
  const acts = db.prepare(`${ACTS} WHERE active = 1 AND action = ?`).all(form.action).map(actOf);
  const open = new Set(acts.filter(({ outcome }) => !FINAL.has(outcome ?? '')).map(form.keyOfAct));
  const keys = form.keysOf(sent);
  const isDelivered =
    form.action === 'message-dlq.delete' && keys.length > 0 && keys.every((id) => wasDelivered(db, id));
  if (isDelivered) return;
  none('no effect without a durable intent', keys.length === 0 ? [line] : keys.filter((key) => !open.has(key)));
}

/** Returns true if the ledger has the delivery of a message that was published in place of a dead letter. */
function wasDelivered(db: Books, dlqId: string): boolean {
  const found = db
    .prepare(
      `SELECT 1 FROM intents one JOIN outcomes ON outcomes.intent_id = one.id AND outcomes.outcome = 'delivered'
       WHERE one.action = 'message-dlq.republish'
         AND one.lineage IN (SELECT lineage FROM intents WHERE action = 'message-dlq.republish' AND target = ?)`,
    )
    .get(dlqId);
  return found !== undefined;
}

/** Returns all intents, oldest first. */
export function actsOf(db: Books): readonly Act[] {
  return db.prepare(`${ACTS} ORDER BY id`).all().map(actOf);
}

/** Checks all effects after the end. */
export function checkEffects(sent: readonly Sent[], db: Books): void {
  const acts = actsOf(db);
  for (const [form, requests] of Map.groupBy(sent, formOf)) {
    if (form === 'of no policy') continue;
    const own = acts.filter(({ action }) => action === form.action);
    const isRepublished = (id: string): boolean => form.action === 'message-dlq.delete' && wasDelivered(db, id);
    checkKeys(
      form,
      requests.filter((one) => !form.keysOf(one).some(isRepublished)),
      own,
    );
  }
  checkCaps(sent, acts);
  none(
    'an action counts until it is proven to have had no effect',
    // A page that deleted nothing takes no place.
    acts
      .filter(({ action }) => action !== 'message-dlq.prune')
      .filter(({ active, outcome }) => (active === 1) === WITHOUT_EFFECT.has(outcome)),
  );
  none(
    'every request has an outcome',
    acts.filter(({ outcome }) => outcome === null),
  );
}

const isDone = ({ status }: Sent): boolean => status >= 200 && status < 300;

function checkKeys(form: Form, sent: readonly Sent[], acts: readonly Act[]): void {
  const { action, requests: most, keyOfAct } = form;
  const intents = Map.groupBy(acts, keyOfAct);
  for (const [key, same] of Map.groupBy(sent, (one) => form.keysOf(one).join())) {
    const of = intents.get(key) ?? [];
    const claims = form.isShared === true ? [] : of.filter(({ active }) => active === 1);
    const done = same.filter(isDone);
    const facts = { action, key, requests: same.map(({ at, status, lost }) => ({ at, status, lost })), intents: of };
    if (form.isShared !== true && done.length > most) throw new Violation('no act twice on a target', facts);
    if (same.length > most * of.length) throw new Violation('one request for each intent', facts);
    if (claims.length > 1) throw new Violation('one claim on a target', facts);
    if (form.isShared !== true && done.length > 0 && claims.length === 0)
      throw new Violation('no effect without a durable intent', facts);
  }
}

/** Compares the effects of each policy with its caps. */
function checkCaps(sent: readonly Sent[], acts: readonly Act[]): void {
  const times = new Map<string, number[]>();
  const seen = new Set<Act>();
  for (const one of sent.filter(isDone)) {
    const form = formOf(one);
    if (form === 'of no policy' || form.isShared === true) continue;
    const [key] = form.keysOf(one);
    const act = acts.find((its) => its.active === 1 && its.action === form.action && form.keyOfAct(its) === key);
    if (act === undefined || seen.has(act)) continue;
    seen.add(act);
    // A repeated request counts in the window of its intent.
    const at = form.requests > 1 ? act.at : one.at;
    times.set(act.policy, [...(times.get(act.policy) ?? []), at]);
  }
  for (const [policy, all] of times) {
    const caps = POLICIES[policy]?.caps;
    if (caps === undefined) continue;
    for (const [windowMs, limit] of [
      [HOUR, caps.hour],
      [24 * HOUR, caps.day],
    ] as const) {
      for (const first of all) {
        const inWindow = all.filter((at) => at >= first && at < first + windowMs - SLACK).length;
        if (inWindow <= limit) continue;
        const from = new Date(first).toISOString();
        throw new Violation('no cap exceeded', { policy, windowMs, limit, from, effects: inWindow });
      }
    }
  }
}
