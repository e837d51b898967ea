/** Which rules are evaluated for a file of cases. */
import { expect, test } from 'vitest';
import { rulesFor } from '../support/rule-cases.ts';

const RULES = [
  { record: 'account:failures:rate5m', expr: 'rate(failures_total[5m])' },
  { record: 'account:attempts:rate5m', expr: 'rate(attempts_total[5m])' },
  { record: 'account:lag:max', expr: 'max(lag_seconds)' },
  { alert: 'Failing', expr: 'account:failures:rate5m > 1' },
  {
    alert: 'Lagging',
    expr: 'account:lag:max > 1',
    annotations: { summary: 'with {{ query "account:attempts:rate5m" }}' },
  },
  { alert: 'Absent', expr: 'absent(up)' },
];
const series = (text: string) => ({ series: text });

function kept(cases: Parameters<typeof rulesFor>[0]['tests'][number]): readonly string[] {
  return [...rulesFor({ tests: [cases] }, RULES)].map(({ alert, record }) => alert ?? record ?? '').toSorted();
}

test.each([
  [
    'what reads a series, and what reads its records',
    { input_series: [series('failures_total{account="a"}')] },
    ['Failing', 'account:failures:rate5m'],
  ],
  [
    'an alert that is named, and what it and its texts read',
    { input_series: [], alert_rule_test: [{ alertname: 'Lagging' }] },
    ['Lagging', 'account:attempts:rate5m', 'account:lag:max'],
  ],
  [
    'a recorded series that is asked for',
    { input_series: [], promql_expr_test: [{ expr: 'sum(account:lag:max)' }] },
    ['Lagging', 'account:attempts:rate5m', 'account:lag:max'],
  ],
  ['an alert on what is absent', { input_series: [], alert_rule_test: [{ alertname: 'Absent' }] }, ['Absent']],
  ['nothing else', { input_series: [series('failures{account="lag_seconds"}')] }, []],
])('%s', (_what, cases, expected) => {
  expect(kept(cases)).toEqual(expected);
});

test('a rule that may read every series is refused', () => {
  for (const expr of ['ALERTS{alertstate="firing"}', '{__name__=~"up"}']) {
    expect(() => rulesFor({ tests: [] }, [{ alert: 'Any', expr }])).toThrow('Any: reads any series');
  }
});
