/**
 * The chart as users install it, rendered by a real Helm for each kind of installation. The API would accept its objects,
 * they equal those of kustomize, and the daemon loads their configuration without a warning.
 */
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '#config/load.ts';
import { REMOVABLE, VALUES } from '../../deploy/helm/values-schema.ts';
import { valuesOf } from '../../deploy/helm/values.ts';
import { CHART, helm, runHelm, template, templateError, VALUE_FILES, valuesPath } from './helm.ts';
import { invalidObjects, kubeconform, kubernetesSchemas } from '../support/kubeconform.ts';
import { invalidValues } from '../support/kubernetes-models.ts';
import { all, kubectl, KUBERNETES, kustomize, only, podOf, type Manifest } from '../support/kustomize.ts';
import { labelsOf, promtool } from '../support/relabeling.ts';
import { tempDir } from '../support/temp-dir.ts';

type Json = Readonly<Record<string, unknown>>;

interface GrafanaDashboard extends Manifest {
  readonly spec: { readonly configMapRef: { readonly name: string; readonly key: string } };
}

const rendered = new Map<string, readonly Manifest[]>();

/** Objects of a file of values; `defaults` has none. */
function objects(name: string): readonly Manifest[] {
  const found = rendered.get(name) ?? template(name === 'defaults' ? {} : { values: [name] });
  rendered.set(name, found);
  return found;
}

const configFiles = (manifests: readonly Manifest[]): Readonly<Record<string, string>> =>
  only(manifests, 'ConfigMap', 'opsd-config').data!;

/** Labels and annotations that only Helm sets. */
const OF_HELM = [
  'app.kubernetes.io/managed-by',
  'app.kubernetes.io/version',
  'helm.sh/chart',
  'helm.sh/resource-policy',
];

/** Returns the objects by kind and name, without what differs by design. */
function comparable(manifests: readonly Manifest[]): Record<string, unknown> {
  return Object.fromEntries(
    manifests
      .filter(({ kind }) => kind !== 'Namespace')
      .map((manifest) => {
        const { metadata, data, ...rest } = manifest as Manifest & { data?: Readonly<Record<string, string>> };
        const { namespace: _ours, labels, annotations, ...own } = metadata as Json & Manifest['metadata'];
        return [
          `${manifest.kind} ${metadata.name}`,
          sorted({ ...rest, metadata: { ...own, ...without({ labels, annotations }) }, data: data && meaning(data) }),
        ];
      }),
  );
}

/** Sorts the lists of a pod whose order has no meaning. */
function sorted(value: object): unknown {
  return JSON.parse(JSON.stringify(value), (key, inner: unknown) =>
    ['volumes', 'volumeMounts'].includes(key)
      ? (inner as { name: string }[]).toSorted((one, other) => (one.name < other.name ? -1 : 1))
      : inner,
  );
}

function without(maps: Readonly<Record<string, unknown>>): Json {
  const entries = Object.entries(maps).map(([name, map]) => [
    name,
    Object.fromEntries(Object.entries((map ?? {}) as Json).filter(([key]) => !OF_HELM.includes(key))),
  ]);
  return Object.fromEntries(entries.filter(([, map]) => Object.keys(map as Json).length > 0)) as Json;
}

/** Returns the scalars of a YAML document with the keys that lead to them. */
function leaves(value: unknown, keys: readonly string[] = []): (readonly [readonly string[], unknown])[] {
  if (typeof value !== 'object' || value === null) return [[keys, value]];
  return Object.entries(value).flatMap(([key, inner]) => leaves(inner, [...keys, key]));
}

/** Values that decide what there is, and are in no object themselves. Other tests check their effect. */
const DECISIONS = ['config', 'policies', 'dashboards.provisioner', 'nameOverride'];

/** Values of a parent chart, which another test has. */
const OF_PARENTS = ['enabled', 'global'];

/** Content of a ConfigMap, without comments and spaces. Policies can be in files of any name. */
function meaning(data: Readonly<Record<string, string>>): Json {
  const files = Object.entries(data).map(([name, text]): [string, unknown] => [
    name.replace(/^policies.*\.yaml$/, 'policies.yaml'),
    name.endsWith('.json') ? JSON.parse(text) : parse(text),
  ]);
  return Object.fromEntries(files);
}

describe.skipIf(helm === undefined)('the chart', () => {
  test('helm lint finds nothing, for any installation', () => {
    for (const name of ['defaults', ...VALUE_FILES]) {
      const values = name === 'defaults' ? [] : ['--values', valuesPath(name)];
      const { stdout, stderr, status } = runHelm('lint', '--strict', '--quiet', CHART, ...values);
      expect([status, stdout.trim(), stderr.trim()], name).toEqual([0, '', '']);
    }
  });

  describe.skipIf(kubectl === undefined)('next to kustomize', () => {
    test.each([
      ['the default values', 'defaults', 'base'],
      ['every component', 'every-component', 'overlays/example'],
      ['replicas on PostgreSQL', 'postgres', 'overlays/postgres'],
    ])('%s: same objects as kustomize', (_what, values, folder) => {
      const theirs = comparable(kustomize(join(KUBERNETES, folder)));
      expect(comparable(objects(values))).toEqual(theirs);
      expect(Object.keys(theirs).length).toBeGreaterThan(6);
    });

    test('the component for OpenShift removes the same fields as the values for OpenShift', () => {
      const folder = join(KUBERNETES, 'base');
      const component = parse(readFileSync(join(KUBERNETES, 'components/openshift/kustomization.yaml'), 'utf8')) as {
        patches: { patch: string }[];
      };
      const removed = component.patches.flatMap(({ patch }) => parse(patch) as { op: string; path: string }[]);
      const before = podOf(kustomize(folder)).spec.securityContext!;
      const after = podOf(objects('openshift')).spec.securityContext!;
      const gone = Object.keys(before).filter((key) => !(key in after) && key !== 'fsGroupChangePolicy');
      expect(gone.sort()).toEqual(['fsGroup', 'runAsGroup', 'runAsUser']);
      const paths = gone.map((key) => ({ op: 'remove', path: `/spec/template/spec/securityContext/${key}` }));
      expect(removed.sort((one, other) => (one.path < other.path ? -1 : 1))).toEqual(paths);
    });
  });

  describe.skipIf(kubeconform === undefined)('by the schemas of the API', () => {
    const schemas = kubeconform === undefined ? '' : kubernetesSchemas();
    afterAll(() => rmSync(schemas, { recursive: true, force: true }));

    test.each(['defaults', ...VALUE_FILES])('%s is valid', (name) => {
      const manifests = objects(name);
      expect(invalidObjects(manifests, schemas)).toEqual([]);
      expect(invalidValues(manifests.filter(({ kind }) => kind !== 'GrafanaDashboard'))).toEqual([]);
      expect(manifests.length).toBeGreaterThan(3);
    });

    test('an unknown field is rejected, in every kind', () => {
      const kinds = ['every-component', 'grafana-operator', 'scheduling'].flatMap(objects);
      const first = [...new Map(kinds.map((manifest) => [manifest.kind, manifest])).values()];
      const wrong = first.map((manifest) => {
        const { spec } = manifest as Manifest & { spec?: Json };
        return spec === undefined ? { ...manifest, spce: {} } : { ...manifest, spec: { ...spec, unknown: 1 } };
      });
      expect(wrong.length).toBe(12);
      expect(invalidObjects(wrong, schemas)).toHaveLength(12);
    });
  });

  test.each(['defaults', ...VALUE_FILES.filter((name) => name !== 'existing-objects')])(
    '%s has a configuration that the daemon loads without a warning',
    (name) => {
      const folder = tempDir();
      const web = join(folder, 'web.yaml');
      writeFileSync(web, '{}');
      for (const [file, text] of Object.entries(configFiles(objects(name))))
        writeFileSync(join(folder, file), text.replace('/run/secrets/opsd-web/web.yaml', web));
      const env = { OPSD_STORE: join(folder, 'opsd.db'), US_TOKEN: 'secret' };
      // Users need the file of the Secret.
      const loaded = loadConfig(join(folder, 'config.yaml'), { env, secrets: false });
      const found = loaded.ok ? loaded.warnings : loaded.problems;
      expect(found.filter(({ path }) => name !== 'every-component' || !path?.startsWith('server.users'))).toEqual([]);
    },
  );

  test('values reach the configuration unchanged', () => {
    const { config: given, policies } = parse(readFileSync(valuesPath('inline-policies'), 'utf8')) as {
      config: { accounts: unknown };
      policies: unknown;
    };
    const files = configFiles(objects('inline-policies'));
    expect((parse(files['config.yaml']!) as Json)['accounts']).toEqual(given.accounts);
    expect(parse(files['policies.yaml']!)).toEqual({ policies });
  });

  test('existing objects replace all of the own ones', () => {
    const manifests = objects('existing-objects');
    expect(manifests.map(({ kind }) => kind).sort()).toEqual(['Deployment', 'NetworkPolicy', 'Service', 'Service']);
    const { spec, container } = podOf(manifests, 'message-ops');
    const volume = (name: string) => spec.volumes!.find((one) => one.name === name);
    expect(volume('config')!.projected!.sources).toEqual([
      { configMap: { name: 'opsd-platform' } },
      {
        configMap: {
          name: 'opsd-policies-billing',
          items: [{ key: 'billing.yaml', path: 'policies-billing.yaml' }],
        },
      },
      { secret: { name: 'opsd-policies-private' } },
    ]);
    const secrets = spec.volumes!.flatMap(({ secret }) => (secret === undefined ? [] : [secret]));
    expect(secrets.map(({ secretName, optional = false }) => [secretName, optional])).toEqual([
      ['vault-opsd-service', false],
      ['vault-opsd-hooks', true],
      ['message-ops-api', true],
      ['vault-opsd-notify', false],
    ]);
    expect(volume('data')!.persistentVolumeClaim).toEqual({ claimName: 'opsd-data-restored' });
    expect([spec.serviceAccountName, spec.imagePullSecrets]).toEqual(['platform', [{ name: 'registry' }]]);
    expect(container.image).toMatch(/^images\.example\.com\/platform\/opsd@sha256:[0-9a-f]{64}$/);
  });

  test('own and existing configuration can be combined', () => {
    const sources = 'configSources=[{"configMap":{"name":"team-policies"}}]';
    const volumes = podOf(template({ set: [sources] })).spec.volumes!;
    expect(volumes[0]!.projected!.sources).toEqual([
      { configMap: { name: 'opsd-config' } },
      { configMap: { name: 'team-policies' } },
    ]);
    // A policies.yaml of its own would hide that of the ConfigMap.
    const none = template({ set: [sources, 'policies=[]'] });
    expect(Object.keys(configFiles(none))).toEqual(['config.yaml']);
    const onlyPolicies = template({ set: [sources, 'config=null'] });
    expect(Object.keys(configFiles(onlyPolicies))).toEqual(['policies.yaml']);
  });

  test('hooks can be disabled, with everything that belongs to them', () => {
    const manifests = objects('openshift');
    expect(all(manifests, 'Service').map(({ metadata }) => metadata.name)).toEqual(['opsd']);
    const { spec, container } = podOf(manifests);
    expect(container.ports!.map(({ name }) => name)).toEqual(['metrics', 'probes']);
    expect(spec.volumes!.map(({ name }) => name)).not.toContain('secret-hooks');
    expect(only(manifests, 'NetworkPolicy').spec!.ingress).toHaveLength(1);
    expect(parse(configFiles(manifests)['config.yaml']!)).not.toHaveProperty('hooks');
  });

  test('the Ingress leads only to hooks', () => {
    const { spec } = only(objects('hooks-ingress'), 'Ingress', 'opsd-hooks');
    expect(spec).toEqual({
      ingressClassName: 'nginx',
      tls: [{ hosts: ['hooks.example.org'], secretName: 'hooks-tls' }],
      rules: [
        {
          host: 'hooks.example.org',
          http: {
            paths: [
              {
                path: '/hooks/callbacks/',
                pathType: 'Prefix',
                backend: { service: { name: 'opsd-hooks', port: { name: 'hooks' } } },
              },
            ],
          },
        },
      ],
    });
    const [metrics, hooks] = only(objects('hooks-ingress'), 'NetworkPolicy').spec!.ingress!;
    expect([metrics!.from!.length, hooks!.from!.length]).toEqual([1, 2]);
  });

  test('without peers, no pod reaches the metrics, and every client the hooks', () => {
    const { ingress, policyTypes } = only(template({ set: ['networkPolicy.metricsFrom=[]'] }), 'NetworkPolicy').spec!;
    expect(ingress).toEqual([{ ports: [{ protocol: 'TCP', port: 'hooks' }] }]);
    expect(policyTypes).toEqual(['Ingress', 'Egress']);
    const closed = only(
      template({ set: ['networkPolicy.metricsFrom=[]', 'networkPolicy.egress=[]', 'hooks.enabled=false'] }),
      'NetworkPolicy',
    ).spec!;
    // Both types without a rule: nothing is allowed.
    expect(Object.keys(closed).sort()).toEqual(['podSelector', 'policyTypes']);
  });

  test('labels and annotations reach every object and the pod, and selectors never change', () => {
    const manifests = objects('scheduling');
    for (const { metadata, kind } of manifests) {
      const { labels, annotations } = metadata as Manifest['metadata'] & { annotations?: Json };
      expect(labels, kind).toMatchObject({ team: 'platform', 'cost-center': '4711' });
      expect(annotations, kind).toMatchObject({ 'example.org/owner': 'platform' });
    }
    const { metadata, spec } = podOf(manifests);
    const { 'sidecar.istio.io/inject': inject, ...own } = metadata.labels!;
    expect(inject).toBe('false');
    expect(own).toEqual(podOf(objects('defaults')).metadata.labels);
    expect(metadata.annotations).toMatchObject({ 'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false' });
    for (const field of ['tolerations', 'affinity', 'topologySpreadConstraints', 'nodeSelector', 'priorityClassName'])
      expect(spec, field).toHaveProperty(field);
    expect(only(manifests, 'Deployment').spec!.selector).toEqual(
      only(objects('defaults'), 'Deployment').spec!.selector,
    );
  });

  test('the claim survives the release, unless the values say otherwise', () => {
    const policy = (name: string): unknown =>
      (only(objects(name), 'PersistentVolumeClaim', 'opsd-data').metadata as { annotations?: Json }).annotations?.[
        'helm.sh/resource-policy'
      ];
    expect([policy('defaults'), policy('other-values')]).toEqual(['keep', undefined]);
  });

  test('a budget needs a replica', () => {
    const { spec } = only(objects('scheduling'), 'PodDisruptionBudget');
    expect(spec).toMatchObject({ maxUnavailable: 0, unhealthyPodEvictionPolicy: 'AlwaysAllow' });
    const stopped = template({ values: ['scheduling'], set: ['replicas=0'] });
    expect(all(stopped, 'PodDisruptionBudget')).toEqual([]);
    expect(only(stopped, 'Deployment').spec!.replicas).toBe(0);
  });

  test.skipIf(promtool === undefined)('with a new pod the series stay the same, for both kinds of monitors', () => {
    const service = only(objects('every-component'), 'ServiceMonitor').spec.endpoints[0]!.relabelings!;
    const pod = only(objects('scheduling'), 'PodMonitor').spec.podMetricsEndpoints![0]!.relabelings!;
    const named = { __meta_kubernetes_namespace: 'opsd', __meta_kubernetes_service_name: 'opsd' };
    for (const [relabelings, labels] of [
      [service, { ...named, pod: 'opsd-a' }],
      [pod, { __meta_kubernetes_namespace: 'opsd', pod: 'opsd-b' }],
    ] as const)
      expect(labelsOf(relabelings, { address: '10.0.0.1:10777', labels })).toEqual({
        job: 'opsd',
        instance: 'opsd/opsd',
      });
    // The job of the rules and dashboards.
    const { jobLabel, selector } = only(objects('scheduling'), 'PodMonitor').spec;
    const { labels } = podOf(objects('scheduling')).metadata;
    expect(labels![jobLabel!]).toBe('opsd');
    expect(labels).toMatchObject(selector.matchLabels!);
  });

  test.skipIf(promtool === undefined)('each replica is a target of its own, for both kinds of monitors', () => {
    const service = only(objects('postgres'), 'ServiceMonitor').spec.endpoints[0]!.relabelings!;
    const pods = only(objects('postgres-other'), 'PodMonitor').spec.podMetricsEndpoints![0]!.relabelings!;
    for (const relabelings of [service, pods]) {
      for (const pod of ['opsd-a', 'opsd-b']) {
        const labels = { __meta_kubernetes_namespace: 'opsd', __meta_kubernetes_pod_name: pod, pod };
        const instance = `opsd/${pod}`;
        expect(labelsOf(relabelings, { address: '10.0.0.1:10777', labels })).toEqual({ job: 'opsd', instance });
      }
    }
  });

  test('replicas have a budget, no volume, and a route to their database', () => {
    const manifests = objects('postgres');
    const { spec, container } = podOf(manifests);
    expect(all(manifests, 'PersistentVolumeClaim')).toEqual([]);
    expect(spec.volumes!.filter((volume) => volume.persistentVolumeClaim !== undefined)).toEqual([]);
    expect(container.securityContext!.readOnlyRootFilesystem).toBe(true);
    expect(only(manifests, 'PodDisruptionBudget').spec).toMatchObject({ minAvailable: 1 });
    // The daemon's configuration names a file that is mounted.
    const { storage } = parse(configFiles(manifests)['config.yaml']!) as { storage: { postgres: { urlFile: string } } };
    const mounts = container.volumeMounts!.map(({ mountPath }) => `${mountPath}/url`);
    expect(mounts).toContain(storage.postgres.urlFile);
    const other = objects('postgres-other');
    expect(only(other, 'Deployment').spec!.replicas).toBe(3);
    expect(only(other, 'NetworkPolicy').spec!.egress!.at(-1)).toMatchObject({ ports: [{ port: 6432 }] });
    const one = template({ values: ['postgres'], set: ['replicas=1'] });
    expect(all(one, 'PodDisruptionBudget')).toEqual([]);
  });

  test('alerts have the addresses of the values', () => {
    const { spec } = only(objects('prometheus-operator'), 'PrometheusRule', 'msgsvc-opsd');
    const alerts = spec.groups!.flatMap(({ rules = [] }) => rules).filter(({ alert }) => alert !== undefined);
    expect(alerts.length).toBeGreaterThan(20);
    for (const { alert, annotations } of alerts) {
      expect(annotations!['runbook_url']).toBe(`https://wiki.example.org/opsd/${alert!}.md`);
      expect(annotations!['dashboard_url']).toMatch(/^https:\/\/grafana\.example\.org\/d\/opsd-/);
    }
  });

  test('each dashboard is a ConfigMap: with the label of the sidecar, or for a GrafanaDashboard', () => {
    const maps = all(objects('dashboards-sidecar'), 'ConfigMap').filter(({ metadata }) =>
      metadata.name.endsWith('-dashboard'),
    );
    expect(maps.length).toBeGreaterThan(5);
    for (const { metadata } of maps) {
      expect(metadata.labels).toMatchObject({ grafana_dashboard: 'platform', team: 'platform' });
      expect(metadata).toMatchObject({ annotations: { grafana_folder: 'Message delivery' } });
    }
    const operated = objects('grafana-operator');
    const dashboards = operated.flatMap((one) => (one.kind === 'GrafanaDashboard' ? [one as GrafanaDashboard] : []));
    expect(dashboards).toHaveLength(maps.length);
    for (const { spec } of dashboards) {
      const { metadata, data } = only(operated, 'ConfigMap', spec.configMapRef.name);
      expect(JSON.parse(data![spec.configMapRef.key]!)).toHaveProperty('uid');
      expect(metadata.labels).not.toHaveProperty('grafana_dashboard');
    }
  });

  test('two releases in a namespace share no name and no selector', () => {
    const releases = ['eu', 'us'].map((release) => template({ release, values: ['hooks-ingress', 'scheduling'] }));
    const [eu, us] = releases.map((manifests) => manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`));
    expect(eu).toContain('Deployment eu-opsd');
    expect(eu!.filter((name) => us!.includes(name))).toEqual([]);
    const selectors = releases.map((manifests, index) => [
      only(manifests, 'Deployment', `${['eu', 'us'][index]!}-opsd`).spec!.selector.matchLabels,
      ...all(manifests, 'Service').map(({ spec }) => spec!.selector),
    ]);
    for (const one of selectors[0]!) expect(one).toMatchObject({ 'app.kubernetes.io/instance': 'eu' });
    for (const one of selectors[1]!) expect(one).toMatchObject({ 'app.kubernetes.io/instance': 'us' });
    const secrets = podOf(releases[0]!, 'eu-opsd').spec.volumes!.map(({ secret }) => secret?.secretName ?? 'eu-');
    expect(secrets.filter((name) => !name.startsWith('eu-'))).toEqual([]);
  });

  test.each(['my.rel', '1abc', '1.opsd', 'opsd', 'eu'])(
    'the Services of the release %s have valid names',
    (release) => {
      const manifests = template({ release, values: ['every-component'] });
      const names = all(manifests, 'Service').map(({ metadata }) => metadata.name);
      expect(names.length).toBeGreaterThan(1);
      expect(names.filter((name) => !/^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name))).toEqual([]);
    },
  );

  test('releases whose names are changed or truncated share no name', () => {
    const releases = [`${'r'.repeat(50)}-a`, `${'r'.repeat(50)}-b`, 'my.rel', 'my-rel', 'my.rel.x', 'my-rel.x'];
    const names = releases.map((release) => all(template({ release }), 'Deployment')[0]!.metadata.name);
    expect(new Set(names).size).toBe(releases.length);
  });

  test('long names of releases stay valid', () => {
    const manifests = template({ release: 'r'.repeat(53), values: ['every-component'] });
    const names = manifests.map(({ metadata }) => metadata.name);
    expect(names.filter((name) => name.length > 63 || !/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(name))).toEqual([]);
    expect(new Set(manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).size).toBe(manifests.length);
  });

  test('containers, arguments, hosts, DNS, and objects of the user are beside those of the chart', () => {
    const manifests = objects('sidecars');
    const given = parse(readFileSync(valuesPath('sidecars'), 'utf8')) as Json & { extraArgs: readonly string[] };
    const { spec, container } = podOf(manifests);
    expect(spec.containers.map(({ name }) => name)).toEqual(['opsd', 'log-shipper']);
    expect(container.args).toEqual(['run', ...given.extraArgs]);
    for (const field of ['initContainers', 'hostAliases', 'dnsPolicy', 'dnsConfig'])
      expect(spec, field).toHaveProperty(field, given[field]);
    // What looks like a template stays as it is.
    expect(all(manifests, 'ConfigMap').at(-1)).toEqual((given['extraObjects'] as readonly Json[])[0]);
    for (const field of ['initContainers', 'hostAliases', 'dnsPolicy', 'dnsConfig'])
      expect(podOf(objects('defaults')).spec, field).not.toHaveProperty(field);
    expect(podOf(objects('defaults')).container).not.toHaveProperty('args');
  });

  test('another name of the chart changes the names of objects, and no label', () => {
    const named = (...set: readonly string[]) => all(template({ release: 'eu', set }), 'Deployment')[0]!;
    const { metadata, spec } = named('nameOverride="messaging"');
    expect(metadata.name).toBe('eu-messaging');
    expect(spec!.selector).toEqual(named().spec!.selector);
    expect(spec!.template.metadata!.labels).toEqual(named().spec!.template.metadata!.labels);
    expect(named('nameOverride="messaging"', 'fullnameOverride="ops"').metadata.name).toBe('ops');
  });

  describe('null', () => {
    const text = readFileSync(join(CHART, 'values.yaml'), 'utf8');
    const keys = Object.keys(parse(text) as object);
    test.each(keys)('%s: null stands for the default, or removes the value', (key) => {
      if (key === 'config') {
        expect(templateError({ set: ['config=null'] })).toContain('config is null, and configSources is empty');
        return;
      }
      const manifests = template({ set: [`${key}=null`] });
      if (REMOVABLE.includes(key))
        expect(Object.keys(comparable(manifests))).toEqual(Object.keys(comparable(objects('defaults'))));
      else expect(comparable(manifests)).toEqual(comparable(objects('defaults')));
    });

    test('at any depth', () => {
      const values = valuesOf(text, VALUES).filter(({ path }) => path.includes('.'));
      const groups = values.filter(({ schema }) => schema === undefined).map(({ path }) => path);
      const leaves = values.filter(({ schema }) => schema !== undefined).map(({ path }) => path);
      expect(groups.length).toBeGreaterThan(3);
      for (const paths of [groups, leaves, ['hooks.service', 'hooks.ingress', 'dashboards.sidecar']])
        expect(comparable(template({ set: paths.map((path) => `${path}=null`) }))).toEqual(
          comparable(objects('defaults')),
        );
    });

    test('a key without a default is removed, in maps and in lists', () => {
      const set = ['config.log=null', 'nodeSelector={"a":null}', 'tolerations=[{"key":"a","value":null}]'];
      const manifests = template({ set });
      expect(configFiles(manifests)).toEqual(configFiles(objects('defaults')));
      expect(podOf(manifests).spec).not.toHaveProperty('nodeSelector');
      expect(podOf(manifests).spec.tolerations).toEqual([{ key: 'a' }]);
    });
  });

  test('numbers and texts of the values stay what they are', () => {
    const set = ['config.storage={"audit":{"maxFileBytes":1000000000}}', 'config.log={"level":"info"}'];
    const parsed = parse(configFiles(template({ set }))['config.yaml']!) as Json;
    expect(parsed).toMatchObject({ storage: { audit: { maxFileBytes: 1_000_000_000 } }, hooks: { listen: ':10778' } });
    expect(configFiles(template({ set }))['config.yaml']).toContain('maxFileBytes: 1000000000');
  });

  test('the notes name the Secrets to create, and what needs attention', () => {
    const notes = (...set: readonly string[]): string => {
      const values = set.flatMap((one) => ['--set-json', one]);
      const install = ['install', 'opsd', CHART, '--namespace=opsd', '--dry-run=client'];
      const { stdout, stderr, status } = runHelm(...install, ...values);
      expect([status, stderr]).toEqual([0, '']);
      return stdout.slice(stdout.indexOf('\nNOTES:\n'));
    };
    expect(notes()).toMatch(/opsd-service \(in .*\n {2}opsd-hooks \(in /);
    expect(notes()).not.toContain('opsd-notify');
    expect(notes()).toContain('NOTE: config.accounts still has the address of the example');
    expect(notes()).toContain('NOTE: image.repository is opsd');
    const account = 'config.accounts=[{"name":"eu","url":"https://eu.example.org","tokenFile":"/run/secrets/x"}]';
    const image = 'image.repository="images.example.com/opsd"';
    expect(notes(account, image)).not.toContain('NOTE:');
    expect(notes(account, 'hooks.ingress={"enabled":true,"host":"h.example.org"}')).toContain('no certificate');
    expect(notes(account, 'podDisruptionBudget.enabled=true')).toContain('keeps nodes from draining');
    expect(notes(account, 'podDisruptionBudget.enabled=true', 'replicas=0')).toContain('no daemon runs');
  });

  test('each value reaches an object', () => {
    const values = valuesOf(readFileSync(join(CHART, 'values.yaml'), 'utf8'), VALUES);
    const paths = values.filter(({ schema }) => schema !== undefined).map(({ path }) => path);
    const used = new Set<string>();
    for (const name of VALUE_FILES) {
      const text = JSON.stringify(objects(name));
      for (const [keys, value] of leaves(parse(readFileSync(valuesPath(name), 'utf8')))) {
        const path = keys.join('.');
        const owner = paths.find((one) => path === one || path.startsWith(`${one}.`))!;
        const shown = JSON.stringify(value);
        // In a map of the values with its key, else anywhere in a text.
        const isMapped = path !== owner && !/^\d+$/.test(keys.at(-1)!);
        const sought = isMapped ? `${JSON.stringify(keys.at(-1))}:${shown}` : shown.replaceAll(/^"|"$/g, '');
        const isDecision = DECISIONS.includes(owner) || typeof value === 'boolean' || value === null;
        expect(isDecision || text.includes(sought), `${name}.yaml: ${path}`).toBe(true);
        used.add(owner);
      }
    }
    expect(paths.filter((path) => !used.has(path))).toEqual(OF_PARENTS);
  });

  test('another chart can depend on it, with a condition and global values', () => {
    const parent = tempDir();
    const dependency = `{ name: opsd, version: ">=0.0.0", condition: opsd.enabled }`;
    writeFileSync(
      join(parent, 'Chart.yaml'),
      `apiVersion: v2\nname: platform\nversion: 1.0.0\ndependencies: [${dependency}]\n`,
    );
    cpSync(CHART, join(parent, 'charts/opsd'), { recursive: true });
    const kinds = (values: string, ...args: readonly string[]): readonly string[] => {
      writeFileSync(join(parent, 'values.yaml'), `global: { team: platform }\nopsd: ${values}\n`);
      const { stdout, stderr, status } = runHelm('template', 'eu', parent, ...args);
      expect([status, stderr]).toEqual([0, '']);
      return [...stdout.matchAll(/^kind: (.*)$/gm)].map(([, kind]) => kind!);
    };
    expect(kinds('{ enabled: true }')).toContain('Deployment');
    expect(kinds('{ enabled: false }')).toEqual([]);
    // Helm ignores null in the values.yaml of the parent, and passes that of the user's files.
    const file = join(parent, 'user.yaml');
    writeFileSync(file, 'opsd: { config: null, policies: null, configSources: [{ configMap: { name: a } }] }\n');
    expect(kinds('{}', '--values', file)).not.toContain('ConfigMap');
  });

  test('a release fits into its Secret', () => {
    const files = readdirSync(CHART, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    // Helm keeps the chart and its manifest as compressed JSON, and encodes it twice.
    const chart = files.map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'base64'));
    const { stdout } = runHelm('template', 'opsd', CHART, '--values', valuesPath('every-component'));
    const release = gzipSync(JSON.stringify({ chart, manifest: stdout })).toString('base64');
    expect(stdout.length).toBeGreaterThan(400_000);
    expect(Buffer.from(release).toString('base64').length).toBeLessThan(700 * 1_024);
  });

  test.each(['docs/kubernetes.md'])('the values in %s are valid', (page) => {
    const text = readFileSync(join(import.meta.dirname, '../..', page), 'utf8');
    const blocks = [...text.matchAll(/^( *)```yaml\n(.*?)^\1```/gms)].map(([, indent, block]) =>
      block!.replaceAll(new RegExp(`^${indent!}`, 'gm'), ''),
    );
    const values = blocks.filter((block) => !block.startsWith('apiVersion:'));
    for (const block of values) {
      const file = join(tempDir(), 'values.yaml');
      writeFileSync(file, block);
      expect(template({ values: [file] }).length).toBeGreaterThan(5);
    }
    expect(values.length).toBeGreaterThan(0);
  });
});
