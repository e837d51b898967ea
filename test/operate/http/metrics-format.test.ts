import { expect, test } from 'vitest';
import { metricsFormat } from '#operate/http/metrics-format.ts';

test.each([
  // Prometheus 2.42, 2.50 and 3, with their fallbacks.
  [
    'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1',
    'openmetrics',
  ],
  [
    'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2',
    'openmetrics',
  ],
  [
    'application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,application/openmetrics-text;version=1.0.0;q=0.5,*/*;q=0.1',
    'openmetrics',
  ],
  ['text/plain;version=0.0.4;q=1,*/*;q=0.1', 'text'],
  ['application/openmetrics-text; version=1.0.0; charset=utf-8', 'openmetrics'],
  ['application/openmetrics-text;version="1.0.0"', 'openmetrics'],
  ['application/openmetrics-text', 'openmetrics'],
  ['APPLICATION/OPENMETRICS-TEXT;Q=1', 'openmetrics'],
  ['application/openmetrics-text;version=0.0.1', 'text'],
  ['application/openmetrics-text;version=2.0.0,text/plain;q=0.1', 'text'],
  ['application/openmetrics-text;q=0.2,text/plain;q=0.3', 'text'],
  ['application/openmetrics-text;q=0.3,text/plain;q=0.2', 'openmetrics'],
  ['application/openmetrics-text,text/plain', 'openmetrics'],
  ['text/plain,application/openmetrics-text', 'text'],
  ['text/*;q=0.5,application/*;q=0.6', 'openmetrics'],
  ['text/plain;q=0,*/*', 'openmetrics'],
  ['application/openmetrics-text;q=0,*/*', 'text'],
  ['application/openmetrics-text;q=lots', 'text'],
  // curl, and browsers.
  ['*/*', 'current'],
  ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'current'],
  // Scrapers that accept any other format too.
  ['text/plain;version=0.0.4,*/*;q=0.1', 'text'],
  ['application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily,*/*;q=0.1', 'text'],
  ['application/json', 'text'],
  [';;,,=;q', 'text'],
  ['', 'text'],
  [undefined, 'text'],
] as const)('Accept %s is answered with %s', (accept, format) => {
  expect(metricsFormat(accept)).toBe(format);
});
