/** Behavior of the sample destinations, with controlled time and chance. */
import { describe, expect, test } from 'vitest';
import { sampleHandlers, type SampleAnswer } from '#emulator/sample/handlers.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { seededRandom } from '#foundation/platform/random.ts';

const SECOND = 1_000;

function world(seed = 1) {
  const clock = new ManualClock(Date.UTC(2026, 10, 20));
  const app = { isBroken: false, wasUsed: false };
  const handlers = sampleHandlers({ clock, random: seededRandom(seed), app });
  const invoice = (number: number, more: object = {}): SampleAnswer =>
    handlers['app.shop.example']({
      path: '/api/workflows/invoice',
      body: { invoice: number, currency: 'EUR', ...more },
    });
  return { app, clock, handlers, invoice };
}

/** Returns the share of successful responses. */
function successOf(count: number, ask: (index: number) => SampleAnswer): number {
  let good = 0;
  for (let index = 0; index < count; index++) if (ask(index).status === 200) good++;
  return good / count;
}

describe('invoices', () => {
  test('the first one fails for longer than its retries last, and a resumed run mostly succeeds', async () => {
    const { clock, invoice } = world();
    for (const _attempt of [1, 2, 3]) {
      expect(invoice(0).status).toBe(503);
      await clock.advance(500);
    }
    expect(successOf(100_000, (index) => invoice(index + 1))).toBeGreaterThan(0.985);
    const broken = Array.from({ length: 100_000 }, (_, index) => index + 1).filter(
      (one) => invoice(one).status !== 200,
    );
    await clock.advance(6 * SECOND);
    const mended = successOf(broken.length, (index) => invoice(broken[index]!));
    expect(mended).toBeGreaterThan(0.7);
    expect(mended).toBeLessThan(1);
  });

  test('an unknown currency fails permanently, and a manual approval never arrives', async () => {
    const { clock, invoice } = world();
    for (let minute = 0; minute < 10; minute++) {
      expect(invoice(1, { currency: 'XXX' }).status).toBe(422);
      expect(invoice(2, { approval: 'manual' }).status).toBe(503);
      await clock.advance(60 * SECOND);
    }
  });

  test('all fail in an outage, and it ends', async () => {
    const { clock, invoice } = world();
    let worst = 1;
    let recovered = 0;
    for (let second = 0, next = 1; second < 900; second++) {
      await clock.advance(SECOND);
      const success = successOf(20, () => invoice(next++));
      worst = Math.min(worst, success);
      if (worst === 0 && success > 0.7) recovered++;
    }
    expect(worst).toBe(0);
    expect(recovered).toBeGreaterThan(300);
  });
});

test('while someone has broken them, all invoices fail; then a resumed one succeeds, and no outage comes by itself', async () => {
  const { app, clock, handlers, invoice } = world();
  app.isBroken = true;
  app.wasUsed = true;
  expect(successOf(100, invoice)).toBe(0);
  expect([2, 3, 4, 5].map((number) => invoice(number).status)).toEqual([503, 422, 503, 422]);
  const onboarding = handlers['app.shop.example']({ path: '/api/workflows/onboarding', body: { customer: 2 } });
  expect([onboarding.status, invoice(1, { currency: 'XXX' }).status]).toEqual([500, 422]);
  app.isBroken = false;
  expect([3, 5].map((number) => invoice(number, { currency: 'XXX' }).status)).toEqual([200, 200]);
  expect(successOf(1_000, (index) => invoice(index + 1_000))).toBe(1);
  for (let second = 0; second < 3_600; second += 1) {
    expect(successOf(20, (index) => invoice(second * 20 + index))).toBe(1);
    await clock.advance(SECOND);
  }
});

describe('mail', () => {
  test('one in fifty fails, and occasional outages last about twenty seconds', async () => {
    const { clock, handlers } = world();
    const mail = () => handlers['email.vendor.example']({ path: '/v1/send', body: {} });
    const bySecond: number[] = [];
    for (let second = 0; second < 10_800; second++) {
      bySecond.push(successOf(20, mail));
      await clock.advance(SECOND);
    }
    const out = bySecond.filter((success) => success < 0.4).length;
    expect(out).toBeGreaterThan(40);
    expect(out).toBeLessThan(160);
    const quiet = bySecond.slice(0, 80);
    expect(quiet.reduce((sum, success) => sum + success, 0) / quiet.length).toBeCloseTo(0.98, 1);
  });
});

describe('the others', () => {
  test('an invalid record is always rejected', () => {
    const { handlers } = world();
    const record = (valid: boolean) => handlers['crm.vendor.example']({ path: '/v1/records', body: { valid } }).status;
    expect(successOf(50, () => handlers['crm.vendor.example']({ path: '/', body: {} }))).toBe(1);
    expect(record(true)).toBe(200);
    expect(record(false)).toBe(400);
  });

  test('charges are slow, orders are not', () => {
    const { handlers } = world();
    const slowest = (host: 'billing.shop.example' | 'orders.shop.example'): number =>
      Math.max(...Array.from({ length: 200 }, () => handlers[host]({ path: '/', body: {} }).afterMs));
    expect(slowest('billing.shop.example')).toBeGreaterThan(800);
    expect(slowest('orders.shop.example')).toBeLessThan(50);
    const answers = Array.from({ length: 400 }, () => handlers['billing.shop.example']({ path: '/', body: {} }));
    expect(answers.some((answer) => answer.reset === true)).toBe(true);
  });

  test('an unknown path of the application responds 404', () => {
    expect(world().handlers['app.shop.example']({ path: '/', body: {} }).status).toBe(404);
  });
});
