/** The numbers of each chart are those of the API. */
import { describe, expect, test } from 'vitest';
import type { RunRecord } from '#automate/ledger/reports.ts';
import type { Timeline, TimelinePoint } from '#automate/ledger/timeline.ts';
import type { HistoryView } from '#operate/contract/history.ts';
import type { RunView } from '#operate/contract/policies.ts';
import { FlowControlHistory } from '#observe/observations/flow-control-history.ts';
import type { CanariesView, FlowControlView, SpendView } from '#operate/contract/readings.ts';
import { allCanaries } from '../../support/canaries.ts';
import { ask, got, ledger, NOW, RESUME_BILLING, serving, world, type World } from '../http/world.ts';

const DAY = 86_400_000;
const TODAY = Math.floor(NOW / DAY) * DAY;

async function pageOf(deps: World, path: string): Promise<string> {
  const { address } = await serving(deps);
  return (await ask(address, path, { headers: { accept: 'text/html' } })).body.toString();
}

/** Returns the table of a chart: the values of each step, by its series. */
function tableOf(page: string, title: string): Record<string, string[]> {
  const [, found = ''] = new RegExp(`<caption>${title}</caption>(.*?)</table>`, 's').exec(page) ?? [];
  const rows = [...found.matchAll(/<tr>(.*?)<\/tr>/gs)].map(([, row = '']) =>
    [...row.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/gs)].map(([, cell = '']) => cell.replaceAll(/<[^>]*>/g, '')),
  );
  const [names = [], ...values] = rows;
  return Object.fromEntries(names.map((name, column) => [name, values.map((row) => row[column]!)]));
}

const dollars = (values: readonly (number | null | undefined)[]) =>
  values.map((value) => (typeof value === 'number' ? `$${value.toFixed(2).replace('.00', '')}` : 'unknown'));

describe('spend', () => {
  function spending(more: { readonly monthUsd?: number; readonly days?: readonly number[] } = {}) {
    const deps = world({ accounts: [{ name: 'production', managementApiUrl: 'http://a' }] });
    const { monthUsd = 40, days = Array.from({ length: 22 }, (_, index) => index - 18) } = more;
    const points = days.map((day) => ({ at: TODAY + day * DAY, value: day > 0 ? 0 : 20 + day }));
    deps.register('accountStats');
    const row = { spend: { monthUsd, paceUsd: 10, forecastUsd: 165 }, dailyBillings: points, dailyRequests: points };
    deps.publish('accountStats', [row]);
    return deps;
  }

  test('the month ends with its forecast, between the lowest and the highest day', async () => {
    const deps = spending();
    const [account] = (await got<SpendView>(deps, '/api/v1/spend')).accounts;
    const { month } = account!;
    // 18 November: the 1st is 17 days ago.
    expect(month).toMatchObject({ from: Date.UTC(2026, 10, 1) });
    const { spentUsd, forecastUsd, lowUsd, highUsd } = month!;
    expect([spentUsd, forecastUsd, lowUsd, highUsd].map(({ length }) => length)).toEqual([30, 30, 30, 30]);
    expect(spentUsd.slice(0, 3)).toEqual([3, 7, 12]);
    expect(spentUsd.slice(16, 19)).toEqual([187, 40, null]);
    expect([forecastUsd[16], forecastUsd[17]]).toEqual([null, 40]);
    const left = (Date.UTC(2026, 11, 1) - NOW) / DAY;
    for (const [values, pace] of [
      [forecastUsd, 10],
      [lowUsd, 13],
      [highUsd, 19],
    ] as const) {
      expect(values.at(-1)).toBeCloseTo(40 + pace * left);
    }
    const page = await pageOf(deps, '/spend');
    expect(tableOf(page, 'Spend of the month')).toMatchObject({
      spent: dollars(spentUsd),
      forecast: dollars(forecastUsd),
      'at least': dollars(lowUsd),
      'at most': dollars(highUsd),
    });
  });

  test('days are bars up to today, without the future', async () => {
    const deps = spending();
    const [account] = (await got<SpendView>(deps, '/api/v1/spend')).accounts;
    expect(account!.days.at(-1)?.at).toBe(TODAY);
    const page = await pageOf(deps, '/spend');
    expect(tableOf(page, 'Spend of each day, today so far')['spent']).toEqual(
      dollars(account!.days.map(({ usd }) => usd)),
    );
    expect(tableOf(page, 'Requests of each day, today so far')['requests']).toEqual(
      account!.days.map(({ requests }) => String(requests)),
    );
    // Six weekend days in 19 days that end on a Wednesday, in two charts.
    expect([...page.matchAll(/class="shade"/g)]).toHaveLength(12);
  });

  test('an unknown day is unknown in the sums after it, and no band is drawn from two days', async () => {
    const [account] = (await got<SpendView>(spending({ days: [-17, -16, -2, -1, 0] }), '/api/v1/spend')).accounts;
    expect(account!.month?.spentUsd.slice(0, 4)).toEqual([3, 7, null, null]);
    expect(account!.month?.spentUsd[17]).toBe(40);
    expect(account!.month?.highUsd.every((value) => value === null)).toBe(true);
  });
});

describe('policies', () => {
  const run = (id: number, more: Partial<RunRecord> = {}): RunRecord => ({
    id,
    policy: RESUME_BILLING.name,
    account: RESUME_BILLING.account,
    at: NOW - (100 - id) * 1_000,
    trigger: { kind: 'schedule' },
    outcome: 'nothing_to_do',
    matched: 0,
    acted: 0,
    backlog: 0,
    ...more,
  });
  const RUNS = [
    run(4, { outcome: 'failed', matched: 1, backlog: 1, detail: 'ledger: disk full' }),
    run(3, { outcome: 'held', matched: 20, backlog: 2, detail: 'destination: it is down; denied: 18 protected' }),
    run(2, { outcome: 'acted', matched: 3, acted: 3 }),
    run(1),
  ];

  test('the strip has the runs of the API, oldest first, with their guards', async () => {
    const asked: unknown[] = [];
    const deps = world({
      accounts: [{ name: RESUME_BILLING.account }],
      policies: async () => [RESUME_BILLING],
      ledger: ledger({
        recentRuns: async (...query) => {
          asked.push(query);
          return RUNS;
        },
        lastRuns: async () => [RUNS[0]!],
        runs: async () => RUNS,
      }),
    });
    const { runs } = await got<{ readonly runs: readonly RunView[] }>(
      deps,
      `/api/v1/runs?policy=${RESUME_BILLING.name}`,
    );
    for (const path of ['/policies', `/policies/${RESUME_BILLING.name}`]) {
      const page = await pageOf(deps, path);
      const [, label, strip = ''] = /<svg class="strip"[^>]* aria-label="([^"]*)">(.*?)<\/svg>/s.exec(page) ?? [];
      expect(label).toBe('last 4 runs: 1 nothing to do, 1 acted, 1 held, 1 failed');
      const items = [...strip.matchAll(/class="(\w+)".*?height="([\d.]+)"><title>(.*?)<\/title>/gs)];
      expect(items.map(([, look, height]) => `${look} ${height}`)).toEqual([
        'faint 4',
        'ok 20',
        'attention 14.7',
        'trouble 20',
      ]);
      const words = runs.toReversed().map(({ outcome }) => outcome.replaceAll('_', ' '));
      expect(items.map(([, , , text]) => /: (.*?);/.exec(text!)?.[1])).toEqual(words);
      // Each of the 20 candidates is accounted for.
      expect(items[2]?.[3]).toContain(
        '20 matched: 0 acted on, 2 left, 18 denied or without effect; destination: it is down',
      );
    }
    expect(asked).toEqual([[[RESUME_BILLING.name], 50]]);
  });

  test('modes differ in word and shape', async () => {
    const modes = ['off', 'audit', 'approve', 'enforce'] as const;
    const policies = modes.map((mode) => ({ ...RESUME_BILLING, name: mode, mode, effectiveMode: mode }));
    const reduced = {
      ...RESUME_BILLING,
      name: 'less',
      mode: 'enforce',
      effectiveMode: 'audit',
      reducedBy: 'a pause',
    } as const;
    const deps = world({ policies: async () => [...policies, reduced] });
    const page = await pageOf(deps, '/policies');
    const shown = [
      ...page.matchAll(
        /<span class="state (\w+)">(off|watches|asks|acts)<\/span> ?(?:<span class="sub">(.*?)<\/span>)?/g,
      ),
    ];
    expect(shown.map(([, tone, word, note]) => [tone, word, note])).toEqual([
      ['off', 'off', undefined],
      ['watch', 'watches', 'audit'],
      ['ask', 'asks', 'approve'],
      ['ok', 'acts', 'enforce'],
      ['attention', 'watches', 'audit, configured as enforce: a pause'],
    ]);
  });
});

describe('flow control', () => {
  const key = (flowControlKey: string, waitListSize: number) => ({
    flowControlKey,
    waitListSize,
    parallelismMax: 2,
    parallelismCount: waitListSize > 0 ? 2 : 0,
  });

  function flowing() {
    const flowControlHistory = new FlowControlHistory();
    const deps = world({ accounts: [{ name: 'production' }], flowControlHistory });
    deps.register('flowControl');
    for (const ago of [20, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]) {
      const rows = [key('billing', ago % 5 === 0 ? 0 : ago), key('email', ago === 3 ? 7 : 0)];
      flowControlHistory.take('production', NOW - ago * 180_000, rows);
    }
    deps.publish('flowControl', [key('billing', 5), key('email', 0)]);
    return deps;
  }

  test('waiting messages over time are the sums of the API, and unknown between readings', async () => {
    const deps = flowing();
    const { keys, bucketMs } = await got<FlowControlView>(deps, '/api/v1/flow-control');
    const bucket = Math.floor(NOW / bucketMs) * bucketMs;
    const expected = Array.from({ length: 21 }, (_, index) => {
      const at = bucket - (20 - index) * bucketMs;
      const found = keys.flatMap(({ history }) => history.filter((point) => point.at === at));
      return found.length === 0 ? 'unknown' : String(found.reduce((sum, { waitListSize }) => sum + waitListSize, 0));
    });
    expect(expected.filter((text) => text === 'unknown')).toHaveLength(7);
    expect(tableOf(await pageOf(deps, '/flow-control'), 'Waiting messages of all keys')['waiting']).toEqual(expected);
  });

  test('advice and the use of limits are those of the API', async () => {
    const deps = flowing();
    const { keys } = await got<FlowControlView>(deps, '/api/v1/flow-control');
    expect(keys.map(({ flowControlKey, advice }) => [flowControlKey, advice])).toEqual([
      [
        'billing',
        'Messages waited in 71 % of the last hours, and parallelism 2 is used fully. If the destination answers no 429, publish with a higher parallelism.',
      ],
      ['email', undefined],
    ]);
    const page = await pageOf(deps, '/flow-control');
    expect(page).toContain(keys[0]!.advice);
    expect([...page.matchAll(/<progress[^>]*>/g)].map(([bar]) => bar)).toEqual([
      '<progress class="attention" max="2" value="2" aria-label="parallelism">',
      '<progress class="" max="2" value="0" aria-label="parallelism">',
    ]);
  });
});

test('canaries: the strip has the ended messages of the API with the times to their arrival', async () => {
  const deps = world({
    accounts: [{ name: 'production' }],
    canaries: { states: () => allCanaries(NOW, (plain) => plain) },
  });
  const { canaries } = await got<CanariesView>(deps, '/api/v1/canaries');
  const page = await pageOf(deps, '/canaries');
  const strips = [...page.matchAll(/<svg class="strip"[^>]* aria-label="([^"]*)">(.*?)<\/svg>/gs)];
  const sent = canaries.filter(({ rounds }) => rounds.length > 0);
  expect([strips.length, sent.length]).toEqual([2, 2]);
  for (const [index, { rounds }] of sent.entries()) {
    const ended = rounds.filter(({ result }) => result !== undefined).toReversed();
    const texts = [...strips[index]![2]!.matchAll(/<title>.*?: (.*?)<\/title>/g)].map(([, text]) => text);
    expect(texts).toEqual(
      ended.map(({ result, phases, startedAt }) => {
        const { arrived } = phases;
        return `${result!.verdict}, ${arrived === undefined ? 'no arrival known' : `arrived after ${arrived - startedAt} ms`}`;
      }),
    );
    const failed = ended.filter(({ result }) => result!.verdict !== 'ok').length;
    expect(strips[index]![1]).toContain(`: ${failed} failure`);
  }
});

describe('the first page', () => {
  const MINUTE = 60_000;
  const FROM = NOW - 60 * MINUTE;
  const point = (minute: number, more: Partial<TimelinePoint>): TimelinePoint => ({
    at: FROM + minute * MINUTE,
    created: 0,
    delivered: 0,
    failed: 0,
    retried: 0,
    durations: [],
    ...more,
  });
  const timeline = async (): Promise<Timeline> => ({
    points: [
      point(30, { delivered: 300, failed: 2, retried: 5, inFlight: 4 }),
      point(40, { delivered: 200, inFlight: 8 }),
      point(58, { delivered: 499, failed: 0, inFlight: 12 }),
    ],
    counted: { from: FROM + 30 * MINUTE, to: NOW },
    repairs: [{ at: FROM + 40 * MINUTE, verified: 3, failedAgain: 1 }],
    flowControl: [],
    campaigns: [],
    pauses: [],
    deploys: [],
  });
  const deps = () =>
    world({
      accounts: [{ name: 'production', messageApiUrl: 'https://eu.example' }],
      ledger: ledger({ timeline }),
    });

  test('has the deliveries of the API, from where they are known', async () => {
    const { series } = await got<HistoryView>(deps(), '/api/v1/history?span=1h');
    const shown = tableOf(await pageOf(deps(), '/?span=1h'), 'Deliveries per minute');
    for (const name of ['delivered', 'retried', 'failed'] as const) {
      expect(shown[name]).toEqual(series[name].slice(29).map((value) => (value === null ? 'unknown' : String(value))));
    }
  });

  test('has figures that are never rounded to all, with the usual range', async () => {
    const page = await pageOf(deps(), '/?span=1h');
    const figures = [...page.matchAll(/<dt>(.*?)<\/dt>\s*<dd>(.*?)<\/dd>/gs)].map(([, name = '', value = '']) =>
      [name, value].map((part) =>
        part
          .replaceAll(/<svg.*?<\/svg>|<[^>]*>/gs, '')
          .replaceAll(/\s+/g, ' ')
          .trim(),
      ),
    );
    expect(Object.fromEntries(figures)).toMatchObject({
      Delivered: '99.8 % 2 failed of 1,001',
      'In flight': '12 usually 4 to 8',
      'Failed runs': '– not known yet',
      Repaired: '3 1 failed again',
      'Spend of the month': '– not known',
    });
  });
});
