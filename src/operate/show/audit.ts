/** Records of the audit log as sentences, and the records of one plan or run as one group. Pure. */
import { counted, formatCount, runNumbersText } from '#foundation/domain/counted.ts';
import { formatTime } from '#foundation/domain/time-text.ts';
import { type Cell, idLink, idText, timePiece } from '#foundation/markup/cell.ts';
import { incidentPath, planPath } from '../contract/page-paths.ts';
import { policyLink } from './policy-link.ts';

/** Fields of a record, as the log has them. */
export type AuditFields = Readonly<Record<string, unknown>> & { readonly type: string };

/** Returns the record as a sentence. A record of an unknown kind is its kind with its fields. */
export function auditSentence(record: AuditFields): readonly Cell[] {
  const sentence = Object.hasOwn(SENTENCES, record.type) ? SENTENCES[record.type]! : unknownKind;
  return joined([sentence(record)]);
}

/** Parts of a sentence in one list, with the spaces between them. */
function joined(sentence: readonly Cell[]): readonly Cell[] {
  const parts = (sentence.flat(9) as readonly Cell[]).filter((part) => part !== undefined && part !== false);
  return parts.flatMap((part, index) => {
    const isApart = index > 0 && !(typeof part === 'string' && /^[,:]/.test(part));
    return isApart ? [' ', part] : [part];
  });
}

const SENTENCES: Readonly<Record<string, (record: AuditFields) => Cell>> = {
  'run.begun': (of) => [
    `Run ${text(of, 'run')} of`,
    policy(of),
    beginning(of),
    `: ${actions(of, 'chosen')} planned, in mode ${text(of, 'mode')}`,
    because(of),
  ],
  'run.finished': (of) => [
    `Run ${text(of, 'run')} of`,
    policy(of),
    // A run that did nothing has one record.
    has(of, 'trigger') && [beginning(of), ', and'],
    `ended: ${words(of, 'outcome')}, ${runNumbersText({ matched: number(of, 'matched'), acted: number(of, 'acted') ?? 0, backlog: number(of, 'backlog') })}`,
    because(of),
  ],
  intent: (of) => [
    policy(of),
    `sends ${text(of, 'action')} for`,
    target(of),
    has(of, 'attempt') && `, attempt ${text(of, 'attempt')}`,
    has(of, 'step') && `, step ${text(of, 'step')} of its campaign`,
    has(of, 'toUsd') && `, from $${text(of, 'fromUsd')} to $${text(of, 'toUsd')}`,
  ],
  outcome: (of) => [
    'The action of',
    policy(of),
    'on',
    target(of),
    `: ${words(of, 'outcome')}`,
    has(of, 'done') && `, ${formatCount(number(of, 'done') ?? 0)} done`,
    has(of, 'newRunId') && [', new run', idText(text(of, 'newRunId'))],
  ],
  'plan.saved': (of) => [
    has(of, 'by') ? `${text(of, 'by')} made the plan` : [policy(of), 'made the plan'],
    plan(of),
    has(of, 'by') && !isManual(of) && ['of', policy(of)],
    `: ${actions(of, 'covers')}`,
    of['state'] === 'pending' && ', pending approval',
    has(of, 'expiresAt') && [', until', timePiece(number(of, 'expiresAt') ?? 0)],
    because(of),
  ],
  'plan.decided': (of) => [
    text(of, 'by', 'the daemon'),
    DECISION[text(of, 'state')] ?? `set to ${words(of, 'state')}`,
    'the plan',
    plan(of),
    !isManual(of) && ['of', policy(of)],
    has(of, 'replacedBy') && ['by', idLink(planPath(text(of, 'replacedBy')), text(of, 'replacedBy'))],
    has(of, 'covers') && `: ${actions(of, 'covers')}`,
    because(of),
  ],
  pause: (of) => [text(of, 'by'), 'paused', scope(of['scope']), because(of)],
  unpause: (of) => [
    text(of, 'by'),
    'lifted the pause of',
    [of['scopes']].flat().map((one, index) => [index > 0 && ',', scope(one)]),
    because(of),
  ],
  campaign: (of) => [
    'The campaign of',
    policy(of),
    has(of, 'from') ? `went from ${text(of, 'from')} to ${text(of, 'state')}` : `began, ${text(of, 'state')}`,
    `: step ${text(of, 'step')}, at most ${counted(number(of, 'size') ?? 0, 'entry', 'entries')}`,
    (number(of, 'judged') ?? 0) > 0 && `, ${text(of, 'verified')} of ${text(of, 'judged')} verified`,
    because(of),
  ],
  trigger: (of) => ['A trigger of', policy(of), 'is pending:', idText(text(of, 'key'))],
  'trigger.ended': (of) => [
    counted(number(of, 'count') ?? 1, 'trigger'),
    has(of, 'policy') && ['of', policy(of)],
    of['reason'] === 'ran' ? 'ended with a run' : 'ended: its alert is resolved',
  ],
  'operation.begun': (of) => [
    text(of, 'by'),
    `sends the operation ${text(of, 'operation')}`,
    has(of, 'object') && ['for', idText(text(of, 'object'))],
    has(of, 'dlqIds') && `for ${[of['dlqIds']].flat().join(', ')}`,
    has(of, 'keys') && `by ${[of['keys']].flat().join(', ')}`,
    has(of, 'newRunId') && [', as the new run', idText(text(of, 'newRunId'))],
    has(of, 'bodySha256') &&
      `, with ${of['isEdited'] === true ? 'another' : 'the same'} body of ${counted(number(of, 'bodyBytes') ?? 0, 'byte')}, SHA-256 ${text(of, 'bodySha256')}`,
    because(of),
  ],
  'operation.ended': (of) => [
    `The operation ${text(of, 'operation')} ended: ${words(of, 'outcome')}`,
    has(of, 'detail') && `, ${text(of, 'detail')}`,
  ],
  'incident.acknowledged': (of) => [
    text(of, 'by'),
    'acknowledged the incident',
    idLink(incidentPath(text(of, 'incident')), text(of, 'incident')),
    because(of),
  ],
  'incident.snoozed': (of) => [
    text(of, 'by'),
    'snoozed the incident',
    idLink(incidentPath(text(of, 'incident')), text(of, 'incident')),
    has(of, 'until') ? `until ${formatTime(number(of, 'until') ?? 0)}` : 'until a deploy',
    because(of),
  ],
  deploy: (of) => [
    text(of, 'by'),
    of['failed'] === true ? 'reported a roll-back to' : 'reported the deploy of',
    `${text(of, 'version')}: ${[of['of']].flat().join(', ')}`,
  ],
  'store.opened': () => 'The daemon opened its store',
  'store.pruned': (of) =>
    `The daemon deleted what is older than the retention: ${actions(of, 'intents')}, ${counted(number(of, 'runs') ?? 0, 'run')}, ${counted(number(of, 'plans') ?? 0, 'plan')}`,
  'store.distrusted': (of) => ['The daemon does not trust its store', because(of)],
  'store.adopted': (of) => [text(of, 'by'), 'adopted the store', because(of)],
  'counter.reset': (of) => [
    text(of, 'by'),
    `reset ${counted(number(of, 'counters') ?? 0, 'counter')} of ${text(of, 'metric')}`,
    because(of),
  ],
  'audit.not_committed': (of) => `The change of record ${text(of, 'record')} did not happen`,
  'audit.torn': (of) => `The daemon removed ${counted(number(of, 'bytes') ?? 0, 'byte')} of an incomplete line`,
};

/** Kinds with a sentence: all kinds that the daemon writes. */
export const AUDIT_KINDS: readonly string[] = Object.keys(SENTENCES);

/** `began for the alert BillingDown, applied by anna` */
function beginning(of: AuditFields): readonly Cell[] {
  return [
    `began ${RUN_CAUSE[text(of, 'trigger')] ?? text(of, 'trigger')}`,
    has(of, 'alert') && text(of, 'alert'),
    has(of, 'by') && `, applied by ${text(of, 'by')}`,
  ];
}

const RUN_CAUSE: Readonly<Record<string, string>> = {
  schedule: 'on schedule',
  campaign: 'for the next step of a campaign',
  hand: 'on request',
  alert: 'for the alert',
  callback: 'for a failure callback',
  deploy: 'for a deploy',
};

const DECISION: Readonly<Record<string, string>> = {
  approved: 'approved',
  rejected: 'rejected',
  applied: 'applied',
  cancelled: 'cancelled',
  replaced: 'replaced',
  expired: 'ended',
};

function unknownKind({ type, sequence: _place, hash: _hash, ...fields }: AuditFields): Cell {
  return `${type}: ${fieldsText(fields, ' ')}`;
}

/** Lines such as `outcome=denied`, without the fields that every record has. */
export function fieldsText(fields: Readonly<Record<string, unknown>>, separator = '\n'): string {
  return Object.entries(fields)
    .filter(([name, value]) => value !== undefined && !PLACE.has(name))
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(separator);
}

const PLACE: ReadonlySet<string> = new Set(['at', 'time', 'type', 'store', 'opening', 'previous']);

function has(of: AuditFields, name: string): boolean {
  return of[name] !== undefined && of[name] !== null;
}

function text(of: AuditFields, name: string, absent = 'unknown'): string {
  const value = of[name];
  if (value === undefined || value === null) return absent;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function words(of: AuditFields, name: string): string {
  return text(of, name).replaceAll('_', ' ');
}

function number(of: AuditFields, name: string): number | undefined {
  const value = of[name];
  return typeof value === 'number' ? value : undefined;
}

function actions(of: AuditFields, name: string): string {
  return counted(number(of, name) ?? 0, 'action');
}

function isManual({ origin }: AuditFields): boolean {
  return origin === 'manual';
}

function policy(of: AuditFields): Cell {
  return isManual(of) && has(of, 'plan') ? ['the manual plan', plan(of)] : policyLink(text(of, 'policy'));
}

function plan(of: AuditFields): Cell {
  return idLink(planPath(text(of, 'plan')), text(of, 'plan'));
}

function target(of: AuditFields): Cell {
  return idText(text(of, 'target'));
}

function scope(value: unknown): Cell {
  const name = String(value);
  const policyName = /^policy\/(.*)$/s.exec(name)?.[1];
  if (policyName !== undefined) return ['policy', policyLink(policyName)];
  return name === 'engine' ? 'all policies' : name;
}

function because(of: AuditFields): Cell {
  return has(of, 'reason') && `: ${text(of, 'reason')}`;
}

export interface AuditGroup<Row> {
  /** Record that says what became of it. */
  readonly head: Row;
  /** All of them, newest first. */
  readonly records: readonly Row[];
}

/** Records of one plan, run, action or operation together, the group with the newest record first. */
export function auditGroups<Row extends AuditFields>(newestFirst: readonly Row[]): AuditGroup<Row>[] {
  const groups = new Map<string, Row[]>();
  // An older record has the ids that newer ones refer to: the run of an intent, the plan of a run.
  for (const record of newestFirst.toReversed()) {
    const keys = keysOf(record);
    const group = keys.map((key) => groups.get(key)).find((one) => one !== undefined) ?? [];
    group.unshift(record);
    for (const key of keys) groups.set(key, group);
  }
  const all = [...new Set(groups.values())];
  return all
    .toSorted((a, b) => Number(b[0]!['sequence']) - Number(a[0]!['sequence']))
    .map((records) => ({ head: records.toSorted((a, b) => rankOf(a) - rankOf(b))[0]!, records }));
}

function keysOf(record: AuditFields): string[] {
  const ids = ['plan', 'run', 'intent']
    .filter((name) => has(record, name))
    .map((name) => `${name} ${text(record, name)}`);
  if (record.type.startsWith('operation.')) ids.push(`operation ${text(record, 'id')}`);
  return ids.length > 0 ? ids : [`record ${text(record, 'sequence')}`];
}

const RANKS = ['plan.decided', 'run.finished', 'plan.saved', 'operation.ended', 'run.begun', 'outcome'];

function rankOf({ type }: AuditFields): number {
  return RANKS.includes(type) ? RANKS.indexOf(type) : RANKS.length;
}

/** `18 verified, 2 failed again`: the newest outcome of each action of the group. */
export function outcomesText(newestFirst: readonly AuditFields[]): string | undefined {
  const newest = new Map<unknown, string>();
  for (const record of newestFirst) {
    if (record.type === 'outcome' && !newest.has(record['intent']))
      newest.set(record['intent'], words(record, 'outcome'));
  }
  const counts = Map.groupBy(newest.values(), (word) => word);
  return counts.size === 0
    ? undefined
    : [...counts].map(([word, all]) => `${formatCount(all.length)} ${word}`).join(', ');
}
