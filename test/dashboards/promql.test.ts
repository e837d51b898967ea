/** Facts that tests extract from PromQL. */
import { describe, expect, test } from 'vitest';
import { readPromql } from '../support/promql.ts';

const SERIES: Readonly<Record<string, readonly string[]>> = {
  a_total: ['account', 'code', 'job'],
  b: ['account', 'job'],
  h_bucket: ['account', 'job', 'le'],
};

function read(text: string) {
  const { problems, selectors, labels } = readPromql(text, (name) => SERIES[name]);
  return { problems, selectors, labels: [...labels].sort() };
}

describe('readPromql', () => {
  test('selectors, their matchers, windows and functions', () => {
    const { selectors, problems } = read('sum(rate(a_total{code=~"5..",job!="x"}[$__rate_interval])) / sum(b) > 1');
    expect(problems).toEqual([]);
    expect(selectors).toEqual([
      {
        metric: 'a_total',
        matchers: [
          { label: 'code', op: '=~', value: '5..' },
          { label: 'job', op: '!=', value: 'x' },
        ],
        window: '$__rate_interval',
        call: 'rate',
      },
      { metric: 'b', matchers: [], call: '' },
    ]);
  });

  test.each([
    ['last_over_time(b[15m])', '15m', 'last_over_time'],
    ['max_over_time(b[1h:5m])', '1h', 'max_over_time'],
    ['increase(b[$__range] offset 1d)', '$__range', 'increase'],
    ['changes(b[$__interval])', '$__interval', 'changes'],
  ])('the window of %s', (text, window, call) => {
    expect(read(text).selectors).toEqual([{ metric: 'b', matchers: [], window, call }]);
  });

  test.each([
    ['a_total', ['account', 'code', 'job']],
    ['sum(a_total)', []],
    ['sum by (code) (a_total)', ['code']],
    ['sum without (code) (a_total)', ['account', 'job']],
    ['topk(3, a_total)', ['account', 'code', 'job']],
    ['histogram_quantile(0.9, sum by (le, job) (rate(h_bucket[5m])))', ['job']],
    ['label_replace(b, "new", "$1", "job", "(.*)")', ['account', 'job', 'new']],
    ['a_total / on (account) group_left (job) b', ['account', 'code', 'job']],
    ['a_total * on (account, job) b', ['account', 'job']],
    ['a_total > on (account) group_left () b', ['account', 'code', 'job']],
    ['a_total and on (account) b', ['account', 'code', 'job']],
    ['sum by (account) (b) or vector(0)', ['account']],
    ['1 - b', ['account', 'job']],
    ['b < +Inf', ['account', 'job']],
    ['-(b offset 5m)', ['account', 'job']],
  ])('labels of %s', (text, labels) => {
    expect(read(text)).toMatchObject({ problems: [], labels });
  });

  test.each([
    ['sum(', 'does not parse'],
    ['c', 'no such series: c'],
    ['b{code="x"}', 'b has no code'],
    ['{__name__="c"}', 'no such series: c'],
    ['sum by (code) (b)', 'grouped by code'],
    ['sum by (code) (sum by (job) (a_total))', 'grouped by code'],
    ['b / on (code) b', 'matched on code'],
  ])('the problem of %s', (text, problem) => {
    expect(read(text).problems).toEqual([expect.stringContaining(problem)]);
  });
});
