/** Wrong values: Helm refuses them before anything is installed, and says which value is wrong. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { helm, template, templateError } from './helm.ts';

/** Valid values of required keys. */
const REQUIRED = {
  name: 'a',
  role: 'viewer',
  url: 'https://a.example',
  accountId: 'a',
  username: 'a',
  accounts: [{ name: 'a', url: 'https://a.example', tokenFile: '/run/secrets/a' }],
} as const;

interface ConfigSchema {
  readonly writeOnly?: boolean;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, ConfigSchema>>;
  readonly items?: ConfigSchema;
  readonly additionalProperties?: ConfigSchema | boolean;
}

const SECRET = 'sk_live_0123456789';

/** Returns a value for each key that the schema marks as secret: with the secret, and with the required keys. */
function withSecret(schema: ConfigSchema, path: string): [string, unknown][] {
  const { writeOnly, properties = {}, items, additionalProperties, required = [] } = schema;
  if (writeOnly === true) return [[path, SECRET]];
  const others = Object.fromEntries(required.map((key) => [key, REQUIRED[key as keyof typeof REQUIRED]]));
  const below = (inner: ConfigSchema | boolean | undefined, at: string, put: (value: unknown) => unknown) =>
    typeof inner !== 'object'
      ? []
      : withSecret(inner, at).map(([found, value]): [string, unknown] => [found, put(value)]);
  return [
    ...Object.entries(properties).flatMap(([key, inner]) =>
      below(inner, `${path}.${key}`, (value) => ({ ...others, [key]: value })),
    ),
    ...below(items, `${path}[]`, (value) => [value]),
    ...below(additionalProperties, `${path}.some`, (value) => ({ some: value })),
  ];
}

/** Wrong values of all kinds. */
const WRONG = {
  replica: 2,
  enabled: false,
  fullnameOverride: 'opsd.eu',
  'hooks.ingres': {},
  'config.accounts': [{ name: 'a', urll: 'x' }],
  policies: [
    { name: 'a', acount: 'x' },
    { name: 'a', account: 'b', select: { resource: 'workflow-dlq' } },
  ],
  tolerations: [{ kee: 'a' }],
  affinity: { nodeAffinity: { preferred: [] } },
  'probes.liveness.period': 3,
  monitor: { enabled: 'true', kind: 'Scrape' },
  terminationGracePeriodSeconds: '100',
  labels: ['a'],
  podLabels: { 'cost-center': 4711 },
  replicas: 2,
  'persistence.accessModes': ['ReadWriteMany'],
  'hooks.ingress.paths': ['/metrics'],
} as const;

describe.skipIf(helm === undefined)('values that are refused', () => {
  // Helm reports all problems of the schema at once.
  const problems =
    helm === undefined
      ? ''
      : templateError({ set: Object.entries(WRONG).map(([key, value]) => `${key}=${JSON.stringify(value)}`) });

  test.each([
    ['an unknown value', /'replica' not allowed/],
    ['a chart that is off', /at '\/enabled': value must be true/],
    ['a name that no Service can have', /at '\/fullnameOverride': 'opsd.eu' does not match/],
    ['a misspelled value of a map', /at '\/hooks': additional properties 'ingres' not allowed/],
    ['an unknown key of the configuration', /at '\/config\/accounts\/0': additional properties 'urll' not allowed/],
    ['an unknown key of a policy', /at '\/policies\/0': additional properties 'acount' not allowed/],
    ['a policy without an action', /at '\/policies\/1': missing propert.*'action'/],
    ['an unknown field of Kubernetes', /at '\/tolerations\/0': additional properties 'kee' not allowed/],
    ['a deep one', /at '\/affinity\/nodeAffinity': additional properties 'preferred' not allowed/],
    ['an unknown time of a probe', /at '\/probes\/liveness': additional properties 'period' not allowed/],
    ['a text for a flag', /at '\/monitor\/enabled': got string, want (null or )?boolean/],
    ['a text for a number', /at '\/terminationGracePeriodSeconds': got string, want (null or )?integer/],
    ['a list for a map', /at '\/labels': got array, want (null or )?object/],
    ['a number for a label', /at '\/podLabels\/cost-center': got number, want (null or )?string/],
    ['an unknown kind', /at '\/monitor\/kind': value must be one of 'ServiceMonitor', 'PodMonitor'/],
    ['more than one pod', /at '\/replicas': value must be one of '', 0, 1/],
    ['a shared volume', /at '\/persistence\/accessModes\/0': value must be one of/],
    ['a path that is not a hook', /at '\/hooks\/ingress\/paths\/0': '\/metrics' does not match/],
  ])('%s', (_what, message) => {
    expect(problems).toMatch(message);
  });

  const ingress = 'hooks.ingress={"enabled":true,"host":"h.example.org"}';
  test.each([
    ['no configuration at all', ['config=null'], 'config is null, and configSources is empty'],
    ['no accounts', ['config.accounts=null'], 'config.accounts is null: set the accounts'],
    ['another port', ['config.server.listen=":8080"'], 'config.server.listen is ":8080": the pod'],
    ['another port of the probes', ['config.server.probes.listen=":8080"'], 'config.server.probes.listen is ":8080"'],
    ['hooks of the pod only', ['config.hooks.listen="127.0.0.1:10778"'], 'config.hooks.listen is "127.0.0.1:10778"'],
    ['hooks that do not listen', ['config.hooks=null'], 'hooks.enabled is true, and config.hooks.listen is not set'],
    ['a store outside of the volume', ['config.storage={"sqlite":{"path":"/tmp/a.db"}}'], 'only /var/lib/opsd keeps'],
    [
      'both stores',
      ['postgres.enabled=true', 'config.storage={"sqlite":{"path":"/var/lib/opsd/a.db"}}'],
      'postgres.enabled is true, and config.storage.sqlite is set',
    ],
    ['a variable of the image', ['env=[{"name":"OPSD_LISTEN","value":":1"}]'], 'env sets OPSD_LISTEN'],
    ['an Ingress without hooks', [ingress, 'hooks.enabled=false'], 'hooks.enabled is false: the Ingress leads'],
    ['an Ingress without a host', ['hooks.ingress.enabled=true'], 'hooks.ingress.host is empty'],
    ['policies in no file', ['config.policyFiles=["policies/*.yaml"]'], 'policies are set, and config.policyFiles'],
    [
      'an operator without a Grafana',
      ['dashboards={"enabled":true,"provisioner":"grafana-operator"}'],
      'instanceSelector is',
    ],
    ['a slow scrape', ['monitor.interval="1m"', 'monitor.scrapeTimeout="90s"'], 'scrapeTimeout is 90s, longer than'],
    ['a label of the selectors', ['labels={"app.kubernetes.io/name":"a"}'], 'labels sets app.kubernetes.io/name'],
    ['one of the pod', ['podLabels={"app.kubernetes.io/instance":"a"}'], 'podLabels sets app.kubernetes.io/instance'],
  ])('contradictory: %s', (_what, set, message) => {
    expect(templateError({ set })).toContain(message);
  });

  test('every policy file that the pattern names is accepted', () => {
    for (const pattern of ['policies.yaml', './policies.yaml', '/etc/opsd/*.yaml', 'pol*.yaml'])
      expect(template({ set: [`config.policyFiles=["other.yaml","${pattern}"]`] })).not.toEqual([]);
  });

  const configSchema = JSON.parse(
    readFileSync(join(import.meta.dirname, '../../config.schema.json'), 'utf8'),
  ) as ConfigSchema;
  test.each(withSecret(configSchema, 'config'))('a secret in the configuration: %s', (_path, config) => {
    const error = templateError({ set: [`config=${JSON.stringify(config)}`] });
    expect(error).not.toContain(SECRET);
    expect(error).toContain('is a secret, and a ConfigMap is not');
  });
});
