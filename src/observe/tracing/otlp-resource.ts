/**
 * Resources of the spans: the daemon itself, and each account that it observes. The environment variables of
 * OpenTelemetry add to them and take precedence over the daemon's defaults.
 */
import { randomUUID } from 'node:crypto';
import type { Env } from './otlp-endpoint.ts';
import * as semconv from './semconv.ts';
import type { Attributes } from './span.ts';

const SERVICE = 'msgsvc-opsd';
/** Name and namespace of the observed service. */
const OBSERVED = 'msgsvc';

const ATTRIBUTES = 'OTEL_RESOURCE_ATTRIBUTES';

/** @param onIgnored called with the name of a variable that cannot be parsed; its whole value is ignored */
export function otlpResources(env: Env, version: string, onIgnored: (variable: string) => void) {
  const given = attributesFromEnv(env, () => onIgnored(ATTRIBUTES));
  const name = env['OTEL_SERVICE_NAME']?.trim() ?? '';
  if (name !== '') given.set(semconv.ATTR_SERVICE_NAME, name);
  const daemon = new Map<string, string>([
    [semconv.ATTR_SERVICE_NAME, SERVICE],
    [semconv.ATTR_SERVICE_NAMESPACE, OBSERVED],
    [semconv.ATTR_SERVICE_VERSION, version],
    [semconv.ATTR_SERVICE_INSTANCE_ID, randomUUID()],
    ...given,
  ]);
  // The account is an instance of another service. Attributes that name this one do not apply to it.
  const shared = [...given].filter(([key]) => !key.startsWith('service.'));
  return {
    daemon: [...daemon],
    account: (account: string): Attributes => [
      [semconv.ATTR_SERVICE_NAME, OBSERVED],
      [semconv.ATTR_SERVICE_NAMESPACE, OBSERVED],
      [semconv.ATTR_SERVICE_INSTANCE_ID, account],
      ...shared,
      [semconv.ATTR_MSGSVC_ACCOUNT, account],
    ],
  };
}

/** Parses `key=value` pairs, percent-encoded and separated by commas. An error in one pair invalidates all of them. */
function attributesFromEnv(env: Env, onInvalid: () => void): Map<string, string> {
  const attributes = new Map<string, string>();
  const text = env[ATTRIBUTES]?.trim() ?? '';
  if (text === '') return attributes;
  try {
    for (const pair of text.split(',')) {
      const [key = '', value, ...more] = pair.split('=').map((part) => decodeURIComponent(part.trim()));
      if (key === '' || value === undefined || more.length > 0) throw new URIError('not a key=value pair');
      attributes.set(key, value);
    }
    return attributes;
  } catch {
    onInvalid();
    return new Map();
  }
}
