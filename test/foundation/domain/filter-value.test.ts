/** One rule for the values of filters, at every place where a filter enters or leaves. */
import { describe, expect, test } from 'vitest';
import { impossible } from '#automate/actions/impossible.ts';
import type { ActionRequest } from '#automate/actions/action.ts';
import { pruneSelect, workflowDlqSelect } from '#automate/policies/select-settings.ts';
import { filterFault } from '#foundation/domain/filter-value.ts';
import { selectionFault, type Selection } from '#foundation/domain/selection.ts';
import { checkListItem } from '#service/arguments.ts';
import { operationNamed } from '#service/operations.ts';
import { readValues } from '#service/operation-values.ts';
import { buildQuery } from '#service/query.ts';
import { checkSelection, requestOf } from '#service/request.ts';
import { wireSettings } from '#service/settings.ts';
import { wireNames } from '#service/wire-names.ts';

const NAMES = wireNames(wireSettings.parse({}));
const NOW = Date.UTC(2025, 10, 20, 12);
const DAY = 86_400_000;

const fails = (run: () => unknown): boolean => {
  try {
    run();
    return false;
  } catch {
    return true;
  }
};
const raw = (name: string, given: Record<string, unknown>) => () => {
  const operation = operationNamed(name)!;
  const values = readValues(operation, given);
  checkSelection(operation, values);
  return requestOf(operation, values, NAMES);
};
const plan = (over: Partial<Selection>, value: string) =>
  selectionFault({ action: 'resume', ...over, label: [value] }, NOW) !== undefined;
const prune = (value: string) =>
  ({
    operation: 'delete-dlq',
    account: 'production',
    filter: { toDate: NOW - DAY, count: 1, label: [value] },
  }) as unknown as ActionRequest;

/** Returns true if a place rejects the value. */
const PLACES: Readonly<Record<string, (value: string) => boolean>> = {
  'the filter of a policy': (value) =>
    !workflowDlqSelect().safeParse({ resource: 'workflow-dlq', anyLabel: [value] }).success,
  'the filter of a prune': (value) =>
    !pruneSelect().safeParse({ resource: 'message-dlq', failedBefore: '14d', url: [value] }).success,
  'the filter of a manual plan': (value) => plan({}, value),
  'an id of a manual plan': (value) => selectionFault({ action: 'resume', ids: [value] }, NOW) !== undefined,
  'a list of an operation': (value) => fails(raw('resume-workflow-dlq', { label: [value] })),
  'an id of an operation': (value) => fails(raw('resume-workflow-dlq', { dlqIds: [value] })),
  'the run of an operation': (value) => fails(raw('resume-workflow-dlq', { workflowRunId: value })),
  'the message of an operation': (value) => fails(raw('delete-dlq', { messageId: value, toDate: NOW })),
  'the last check of a prune': (value) => impossible(prune(value), NOW) !== undefined,
  'a list of the client': (value) => fails(() => buildQuery('o', [['label', [value]]])),
  'an id of the client': (value) => fails(raw('list-workflow-dlq', { workflowRunId: value })),
  'a member of the client': (value) => fails(() => checkListItem('o', 'label', value)),
};

const BLANK = [
  '',
  ' ',
  '\t\u00A0\u3000',
  ',',
  ' , ,',
  '\uFF0C',
  '\u2800',
  '\uFFFC',
  '\uFFFD',
  '\u0301',
  ' \u0301\uFE0F',
  '\u200B\u2060',
  '\u3164',
  '\uFFA0',
  '\u{1D159}',
  '\u{E0020}',
  '\uE000',
  '\u0378',
];

describe.each(Object.entries(PLACES))('%s', (_place, rejects) => {
  test.each(BLANK.map((value) => [JSON.stringify(value), value]))('rejects %s', (_shown, value) => {
    expect(rejects(value)).toBe(true);
  });

  test.each(['a,b', 'a,', ',a'])('rejects the two values of %s', (value) => {
    expect(rejects(value)).toBe(true);
  });

  test.each(['billing', '0', '-', '発票', 'e\u0301', 'Zürich', '🚀', 'https://a/?x=1', '*', 'a b', 'ก็'])(
    'takes %s',
    (value) => {
      expect(rejects(value)).toBe(false);
    },
  );
});

test('the only value of a filter may contain a comma, but not consist of commas', () => {
  const send = (url: string) => buildQuery('list-logs', [['url', url]]);
  expect(send('https://a/?x=1,2')).toBe('?url=https%3A%2F%2Fa%2F%3Fx%3D1%2C2');
  for (const value of BLANK) expect(() => send(value), JSON.stringify(value)).toThrow(/url/);
});

test('the fault says what is wrong, and not the value', () => {
  expect(filterFault('\u2800')).toBe('has no visible text; a service may treat it as no filter');
  expect(filterFault('secret-a,secret-b')).toBe('contains a comma, which would separate two values; write two values');
  expect(filterFault(5)).toBe('must be text');
});
