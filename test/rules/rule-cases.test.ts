/** Which rules are evaluated for a case. */
import { expect, test } from 'vitest';
import { rulesFor } from '../support/rule-cases.ts';

const RULES = [
  { record: 'account:attempts:rate5m', expr: 'rate(attempts_total[5m])' },
  { record: 'account:lag:max', expr: 'max(lag_seconds)' },
  { record: 'all:lag:max', expr: 'max(account:lag:max)' },
  { alert: 'Lagging', expr: 'all:lag:max > 1', annotations: { summary: '{{ query "account:attempts:rate5m" }}' } },
  { alert: 'Absent', expr: 'absent(up)' },
];

test.each([
  ['Lagging', ['Lagging', 'account:attempts:rate5m', 'account:lag:max', 'all:lag:max']],
  ['sum(account:lag:max)', ['account:lag:max']],
  ['attempts_total{account="Absent"}', ['Absent']],
  ['attempts_total', []],
])('%s', (text, expected) => {
  const found = [...rulesFor([text], RULES)].map(({ alert, record }) => alert ?? record);
  expect(found.toSorted()).toEqual(expected);
});
