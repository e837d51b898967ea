/**
 * Messages of the sample traffic: an online shop's orders, mails, charges, customer records and workflows. Pure
 * functions: chance is an argument, a request is the result.
 */
import type { Random } from '#foundation/platform/random.ts';
import type { SampleHost } from './handlers.ts';

/** A publish or a trigger. Header names lack the service's prefix: `Retries` is sent as `Svc-Retries`. */
export interface SampleMessage {
  readonly operation: 'publish' | 'trigger';
  /** A URL, or the name of a URL Group. */
  readonly destination: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
}

export const SAMPLE_FLOW_CONTROL_KEYS = ['billing', 'email'] as const;

const at = (host: SampleHost, path: string): string => `https://${host}${path}`;

export const SAMPLE_URL_GROUPS: Readonly<Record<string, readonly { readonly name: string; readonly url: string }[]>> = {
  'order-events': [
    { name: 'warehouse', url: at('orders.shop.example', '/hooks/warehouse') },
    { name: 'crm', url: at('crm.vendor.example', '/v1/orders') },
    { name: 'receipt', url: at('email.vendor.example', '/v1/receipts') },
  ],
  'customer-events': [
    { name: 'crm', url: at('crm.vendor.example', '/v1/customers') },
    { name: 'orders', url: at('orders.shop.example', '/hooks/customers') },
  ],
};

/** Short retries, so that a failure is final within seconds. */
const SOON = { Retries: '2', 'Retry-Delay': 'min(2000, 500 * pow(2, retried))' };

export type SampleKind =
  | 'order'
  | 'orderEvent'
  | 'customerEvent'
  | 'mail'
  | 'newsletter'
  | 'charge'
  | 'record'
  | 'badRecord'
  | 'reminder'
  | 'invoice'
  | 'badInvoice'
  | 'manualInvoice'
  | 'onboarding';

/** Messages sent one by one, with their weights. Newsletters and further charges come in bursts. */
const MIX: readonly (readonly [SampleKind, number])[] = [
  ['order', 18],
  ['orderEvent', 6],
  ['customerEvent', 3],
  ['mail', 16],
  ['charge', 12],
  ['record', 8],
  ['badRecord', 0.06],
  ['reminder', 5],
  ['invoice', 4],
  ['badInvoice', 0.01],
  ['manualInvoice', 0.01],
  // Most requests to the application succeed even while all invoices fail: their repair need not wait for others.
  ['onboarding', 80],
];

/** First messages, which produce every kind of outcome within seconds. */
export const OPENING: readonly SampleKind[] = [
  'invoice',
  'badInvoice',
  'manualInvoice',
  'badRecord',
  'order',
  'charge',
  'mail',
  'orderEvent',
  'onboarding',
  'mail',
  'reminder',
  'charge',
];

export function pickKind(random: Random): SampleKind {
  const total = MIX.reduce((sum, [, weight]) => sum + weight, 0);
  let rest = random() * total;
  for (const [kind, weight] of MIX) {
    rest -= weight;
    if (rest < 0) return kind;
  }
  return 'order';
}

export function sampleMessage(kind: SampleKind, random: Random): SampleMessage {
  const { operation = 'publish', destination, labels, headers, body } = SPECIFICATIONS[kind](random);
  const tenant = `tenant:${String(1 + Math.floor(random() * 24)).padStart(2, '0')}`;
  return {
    operation,
    destination,
    headers: {
      'Forward-Traceparent': `00-${hex(random, 32)}-${hex(random, 16)}-01`,
      Label: [...labels, tenant].join(','),
      ...headers,
    },
    body: { ...body, tenant },
  };
}

interface Specification {
  readonly operation?: 'trigger';
  readonly destination: string;
  readonly labels: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
}

const INVOICE_URL = at('app.shop.example', '/api/workflows/invoice');
const FAILURE_HOOK = at('app.shop.example', '/hooks/failed-messages');

const SPECIFICATIONS: Readonly<Record<SampleKind, (random: Random) => Specification>> = {
  order: (random) => ({
    destination: at('orders.shop.example', '/hooks/orders'),
    labels: ['orders'],
    headers: SOON,
    body: { order: number('o', random), cents: cents(random) },
  }),
  orderEvent: (random) => ({
    destination: 'order-events',
    labels: ['orders'],
    headers: SOON,
    body: { event: 'order.paid', order: number('o', random) },
  }),
  customerEvent: (random) => ({
    destination: 'customer-events',
    labels: ['crm'],
    headers: SOON,
    body: { event: 'customer.changed', customer: number('c', random) },
  }),
  mail: (random) => ({
    destination: at('email.vendor.example', '/v1/send'),
    labels: ['mail'],
    headers: { ...SOON, Retries: '3', Timeout: '5s' },
    body: { template: 'receipt', customer: number('c', random) },
  }),
  newsletter: (random) => ({
    destination: at('email.vendor.example', '/v1/send'),
    labels: ['newsletter'],
    headers: {
      ...SOON,
      'Flow-Control-Key': 'email',
      'Flow-Control-Value': 'parallelism=4, rate=2, period=1s',
    },
    body: { template: 'newsletter', issue: 47, customer: number('c', random) },
  }),
  charge: (random) => ({
    destination: at('billing.shop.example', '/v1/charges'),
    labels: ['billing'],
    headers: {
      ...SOON,
      Timeout: '10s',
      'Flow-Control-Key': 'billing',
      'Flow-Control-Value': 'parallelism=2',
    },
    body: { charge: number('ch', random), cents: cents(random) },
  }),
  record: (random) => ({
    destination: at('crm.vendor.example', '/v1/records'),
    labels: ['crm'],
    headers: { ...SOON, Method: 'PUT' },
    body: { customer: number('c', random), valid: true },
  }),
  badRecord: (random) => ({
    destination: at('crm.vendor.example', '/v1/records'),
    labels: ['crm'],
    headers: { Retries: '1', 'Retry-Delay': '500', Method: 'PUT', 'Failure-Callback': FAILURE_HOOK },
    body: { record: number('r', random), valid: false },
  }),
  reminder: (random) => ({
    destination: at('orders.shop.example', '/hooks/reminders'),
    labels: ['reminder'],
    headers: { ...SOON, Delay: `${3 + Math.floor(random() * 40)}s` },
    body: { order: number('o', random) },
  }),
  invoice: (random) => invoice(random, ['billing'], { currency: 'EUR' }),
  badInvoice: (random) => invoice(random, ['billing'], { currency: 'XXX' }),
  manualInvoice: (random) => invoice(random, ['billing', 'no-auto'], { currency: 'EUR', approval: 'manual' }),
  onboarding: (random) => ({
    operation: 'trigger',
    destination: at('app.shop.example', '/api/workflows/onboarding'),
    labels: ['onboarding'],
    headers: SOON,
    body: { customer: number('c', random) },
  }),
};

function invoice(random: Random, labels: readonly string[], body: object): Specification {
  return {
    operation: 'trigger',
    destination: INVOICE_URL,
    labels,
    // Failed at once: resumes repair it.
    headers: { Retries: '0' },
    body: { invoice: number('i', random), cents: cents(random), ...body },
  };
}

function number(prefix: string, random: Random): string {
  return `${prefix}-${Math.floor(random() * 1e9)}`;
}

function cents(random: Random): number {
  return 500 + Math.floor(random() * 30_000);
}

/** Runs 48 times a message: with an array this is most of the CPU time of the sample traffic. */
function hex(random: Random, digits: number): string {
  let text = '';
  while (text.length < digits) text += '0123456789abcdef'[Math.floor(random() * 16)];
  return text;
}
