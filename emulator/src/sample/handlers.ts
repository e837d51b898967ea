/**
 * Responses of the sample destinations. Time comes from the clock and chance from the injected randomness. Sockets are
 * in `destinations.ts`.
 */
import type { Clock } from '#foundation/platform/clock.ts';
import type { Random } from '#foundation/platform/random.ts';

export const SAMPLE_HOSTS = [
  'orders.shop.example',
  'email.vendor.example',
  'billing.shop.example',
  'crm.vendor.example',
  'app.shop.example',
] as const;
export type SampleHost = (typeof SAMPLE_HOSTS)[number];

interface SampleRequest {
  /** Path and query. */
  readonly path: string;
  /** JSON object of the request; empty for any other body. */
  readonly body: Readonly<Record<string, unknown>>;
}

export interface SampleAnswer {
  readonly status: number;
  /** Delay of the response, in milliseconds. */
  readonly afterMs: number;
  readonly body: object;
  /** Resets the connection instead of responding. */
  readonly reset?: boolean;
}

export type SampleHandler = (request: SampleRequest) => SampleAnswer;

/** Switch of the invoices, for someone who watches. After its first use, no outage comes by itself any more. */
export interface AppSwitch {
  isBroken: boolean;
  wasUsed: boolean;
}

interface Deps {
  readonly clock: Clock;
  readonly random: Random;
  readonly app: AppSwitch;
}

export function sampleHandlers(deps: Deps): Readonly<Record<SampleHost, SampleHandler>> {
  return {
    'orders.shop.example': ordersHandler(deps),
    'email.vendor.example': emailHandler(deps),
    'billing.shop.example': billingHandler(deps),
    'crm.vendor.example': crmHandler(deps),
    'app.shop.example': appHandler(deps),
  };
}

function ordersHandler({ random }: Deps): SampleHandler {
  return () => ok(5 + 35 * random());
}

/** Vendor with a bad network: one request in fifty fails, and occasional outages last twenty seconds. */
function emailHandler(deps: Deps): SampleHandler {
  const { random } = deps;
  const isOut = outages(deps, { firstAfterMs: 90_000, everyMs: 2_400_000, lastingMs: 20_000 });
  return () => {
    const failing = isOut() ? 0.95 : 0.02;
    if (random() < failing) return refuse(503, 'the mail relay is not available', 20 + 60 * random());
    return ok(30 + 120 * random());
  };
}

/** Slow vendor that sometimes loses a connection. */
function billingHandler({ random }: Deps): SampleHandler {
  return () => {
    const afterMs = 350 + 1_250 * random() ** 2;
    if (random() < 0.02) return { status: 0, afterMs, body: {}, reset: true };
    return ok(afterMs);
  };
}

/** Strict vendor: an invalid record is always rejected. */
function crmHandler({ random }: Deps): SampleHandler {
  return ({ body }) => {
    if (body['valid'] === false) return refuse(400, 'the record has no customer number', 15);
    return ok(10 + 60 * random());
  };
}

function appHandler(deps: Deps): SampleHandler {
  const invoice = invoiceWorkflow(deps);
  const onboarding = onboardingWorkflow(deps);
  return (request) => {
    if (request.path === '/api/workflows/invoice') return invoice(request);
    if (request.path === '/api/workflows/onboarding') return onboarding(request);
    if (request.path === '/hooks/failed-messages') return ok(5);
    return refuse(404, `${request.path} is not here`, 5);
  };
}

/**
 * Workflow of invoices. Invoices fail when the ledger behind them fails: the first one, one in 250, and all in an
 * outage. A failed invoice keeps failing for some seconds, longer than its retries last. Then it recovers, so a resumed
 * run mostly succeeds. An unknown currency fails permanently, until a deploy: a broken release rejects half of the
 * invoices so, and the fix knows every currency. Manual approvals never succeed, because no one approves them.
 */
function invoiceWorkflow(deps: Deps): SampleHandler {
  const { random, app } = deps;
  const breakage = new Breakage(deps, { share: 0.004, lastingMs: 5_000, againShare: 0.02 });
  const isOut = outages(deps, { firstAfterMs: 75_000, everyMs: 1_200_000, lastingMs: 24_000 });
  return ({ body }) => {
    const afterMs = 20 + 80 * random();
    if (body['approval'] === 'manual') return refuse(503, 'the approval desk does not answer', afterMs);
    const currency = String(body['currency']);
    const isKnown = app.isBroken ? isEven(body['invoice']) : currency !== 'XXX' || app.wasUsed;
    if (!isKnown) return refuse(422, `currency ${currency} is not known`, afterMs);
    if (app.isBroken) return refuse(503, 'the ledger is not available', afterMs);
    // After the fix, a resumed run succeeds.
    if (app.wasUsed) return ok(afterMs);
    if (isOut()) breakage.breakDown(body['invoice']);
    if (breakage.isBroken(body['invoice'])) return refuse(503, 'the ledger is not available', afterMs);
    return ok(afterMs);
  };
}

function isEven(invoice: unknown): boolean {
  return /[02468]$/.test(String(invoice));
}

/** Workflow of onboarding. It fails rarely, and then for longer than its retries last. */
function onboardingWorkflow(deps: Deps): SampleHandler {
  const breakage = new Breakage(deps, { share: 0.0004, lastingMs: 15_000, againShare: 0.02 });
  return ({ body }) => {
    const afterMs = 20 + 120 * deps.random();
    if (breakage.isBroken(body['customer'])) return refuse(500, 'the welcome template cannot be rendered', afterMs);
    return ok(afterMs);
  };
}

interface BreakageOptions {
  /** Share of the subjects that fail. */
  readonly share: number;
  /** Duration of a subject's failure. */
  readonly lastingMs: number;
  /** Share of the recovered subjects that fail again at the next request. */
  readonly againShare: number;
}

/** Subjects (an invoice, a customer) that fail at present. The first subject always fails. */
class Breakage {
  readonly #deps: Deps;
  readonly #options: BreakageOptions;
  /** Failed subjects with the monotonic time of their recovery, oldest first. The oldest are removed. */
  readonly #mendedAt = new Map<unknown, number>();
  #seen = 0;

  constructor(deps: Deps, options: BreakageOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  isBroken(subject: unknown): boolean {
    const mendedAt = this.#mendedAt.get(subject);
    const now = this.#deps.clock.monotonic();
    if (mendedAt !== undefined && now < mendedAt) return true;
    const share = mendedAt === undefined ? this.#options.share : this.#options.againShare;
    if (this.#seen++ === 0 || this.#deps.random() < share) {
      this.breakDown(subject);
      return true;
    }
    this.#mendedAt.delete(subject);
    return false;
  }

  breakDown(subject: unknown): void {
    this.#mendedAt.delete(subject);
    this.#mendedAt.set(subject, this.#deps.clock.monotonic() + this.#options.lastingMs);
    if (this.#mendedAt.size <= MAX_BROKEN) return;
    for (const oldest of this.#mendedAt.keys()) {
      this.#mendedAt.delete(oldest);
      break;
    }
  }
}

const MAX_BROKEN = 2_000;

interface OutageOptions {
  readonly firstAfterMs: number;
  /** Time from the end of one outage to the start of the next, within a third. */
  readonly everyMs: number;
  /** Duration of an outage, within a third. */
  readonly lastingMs: number;
}

/** Returns a function that is true during an outage. Outages recur at varying intervals. */
function outages({ clock, random, app }: Deps, options: OutageOptions): () => boolean {
  const about = (ms: number): number => ms * (2 / 3 + (2 / 3) * random());
  let from = clock.monotonic() + options.firstAfterMs;
  let to = from + about(options.lastingMs);
  return () => {
    const now = clock.monotonic();
    while (now >= to) {
      from = to + about(options.everyMs);
      to = from + about(options.lastingMs);
    }
    return now >= from && !app.wasUsed;
  };
}

function ok(afterMs: number): SampleAnswer {
  return { status: 200, afterMs, body: { ok: true } };
}

function refuse(status: number, error: string, afterMs: number): SampleAnswer {
  return { status, afterMs, body: { error } };
}
