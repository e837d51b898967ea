/** Checks of repairs of messages and of raises of the budget, against the service's own state. */
import { formOf, stampOf } from './forms.ts';
import { BUDGET } from './policies.ts';
import { ACCOUNT, type Sent, type SimService } from './service.ts';
import type { Books } from './subject.ts';
import { none, Violation } from './violation.ts';

const HOUR = 3_600_000;
/** Maximum offset of the clocks of the daemon and of the service from each other. */
const SKEW = 60_000;

/** Checks a delete that is about to be sent: a message that was published again is delivered before. */
export function checkDelete({ emulator }: SimService, db: Books, dlqId: string): void {
  const lineages = db
    .prepare(`SELECT lineage FROM intents WHERE action = 'message-dlq.republish' AND target = ?`)
    .all(dlqId)
    .map(({ lineage }) => String(lineage));
  if (lineages.length === 0) return;
  const again = emulator
    .messages(ACCOUNT)
    .map(({ labels, state }) => ({ stamp: stampOf(labels), state }))
    .filter(({ stamp }) => lineages.includes(stamp?.split(':')[0] ?? ''));
  if (again.some(({ state }) => state === 'DELIVERED')) return;
  throw new Violation('a dead letter is deleted only after the delivery of its message', { dlqId, again });
}

/** Checks the messages that were published again. */
export function checkRepublished({ emulator, sent }: SimService): void {
  const published = Map.groupBy(
    emulator.messages(ACCOUNT).filter(({ labels, workflowRunId }) => workflowRunId === undefined && stampOf(labels)),
    ({ labels }) => stampOf(labels)!,
  );
  const all = [...emulator.state(ACCOUNT).messages.values()]
    .filter(({ workflow }) => workflow === undefined)
    .map(({ delivery, url }) => ({
      body: Buffer.from(delivery.body).toString('utf8'),
      lineage: stampOf(delivery.labels)?.split(':')[0],
      url,
    }));
  // The applications send the body of such a message once.
  const sharing = Map.groupBy(all, ({ body }) => body);
  none(
    'a message is published again with its own body',
    all.filter(({ body, lineage, url }) => {
      const [original, ...again] = sharing.get(body)!;
      const isOwn = original!.lineage === undefined && original!.url === url;
      return lineage !== undefined && !(isOwn && again.every((other) => other.lineage === lineage));
    }),
  );
  none(
    'a message is published once in each attempt',
    [...published].filter(([, messages]) => messages.length > 1),
  );
  const ids = new Map<string, Set<string>>();
  for (const request of sent) {
    const form = formOf(request);
    if (form === 'of no policy' || form.action !== 'message-dlq.republish') continue;
    const [key = 'none'] = form.keysOf(request);
    ids.set(key, (ids.get(key) ?? new Set()).add(String(request.headers['svc-deduplication-id'])));
  }
  const used = [...ids.values()].flatMap((own) => [...own]);
  none(
    'each attempt has its own deduplication id',
    [...ids].filter(([, own]) => own.size > 1 || used.filter((id) => own.has(id)).length > 1 || own.has('undefined')),
  );
}

/** Checks the pages of prunes: none of them reaches messages of the last hour. */
export function checkPrunes(sent: readonly Sent[]): void {
  const pages = sent.filter(({ method, path }) => method === 'DELETE' && /^\/v2\/dlq\?(?!.*dlqIds)/.test(path));
  none(
    'a prune has its limits',
    pages.filter(({ path, at }) => {
      const { searchParams } = new URL(path, 'http://service');
      const isOld = Number(searchParams.get('toDate')) <= at - HOUR + SKEW;
      return !isOld || !(Number(searchParams.get('count')) <= 3) || searchParams.get('label') !== 'bulk';
    }),
  );
}

/** @param budgets amounts that the account had, oldest first */
export function checkBudgets(budgets: readonly number[]): void {
  none(
    'the budget is never lowered',
    budgets.filter((amount, at) => at > 0 && amount < budgets[at - 1]!),
  );
  none(
    'the budget stays below its ceiling',
    budgets.filter((amount) => amount > BUDGET.ceilingUsd),
  );
  none(
    'the budget is raised as often as its limit allows',
    budgets.slice(1 + BUDGET.perMonth).map((amount) => ({ amount })),
  );
}

/** Checks that each deploy is known to its policy: both are stored together. */
export function checkTriggers(db: Books): void {
  const lost = db.prepare(
    `SELECT id, version FROM deploys WHERE is_rollback = 0 AND account = 'production'
       AND NOT EXISTS (SELECT 1 FROM triggers WHERE policy = 'republish-invoices' AND key = 'deploy/' || CAST(deploys.id AS TEXT))`,
  );
  none('every deploy triggers its policy', lost.all());
}

/** Checks that a dead letter and its kept body begin and end together. */
export function checkBodies(db: Books): void {
  const [letters, bodies] = ['dead_letters', 'dead_letter_bodies'].map((table) =>
    db
      .prepare(`SELECT dlq_id FROM ${table}`)
      .all()
      .map(({ dlq_id: id }) => String(id)),
  ) as [string[], string[]];
  none('every dead letter has its body', [...new Set(letters).symmetricDifference(new Set(bodies))]);
}

/** Checks that actions which need an approval have one. */
export function checkApprovals(db: Books): void {
  const plans = db
    .prepare('SELECT plan, targets, approved_at FROM plans WHERE approved_at IS NOT NULL')
    .all()
    .map(({ plan, targets, approved_at: at }) => ({
      policy: (JSON.parse(String(plan)) as { readonly policy: string }).policy,
      targets: JSON.parse(String(targets)) as readonly string[],
      at: Number(at),
    }));
  const acts = db.prepare('SELECT policy, action, target, at FROM intents').all();
  none(
    'nothing is done without its approval',
    acts
      .filter(({ policy }) => /^(?:resume-refunds|raise-budget|manual:.*)$/.test(String(policy)))
      .filter((act) => {
        const own = plans.filter(({ policy, at }) => policy === act['policy'] && at <= Number(act['at']) + SKEW);
        return !own.some(({ targets }) => act['action'] === 'budget.raise' || targets.includes(String(act['target'])));
      }),
  );
}
