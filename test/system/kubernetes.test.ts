/**
 * The manifests as users apply them, rendered by a real kustomize. The API would accept them, and so would a namespace
 * with restricted pod security. Their ports, paths and names match the daemon and its image.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ISecret } from 'kubernetes-models/v1/Secret';
import { compare } from 'bcryptjs';
import { afterAll, describe, expect, test } from 'vitest';
import { RULE_FILES } from '../../deploy/prometheus/render.ts';
import { parse, parseAllDocuments } from 'yaml';
import { loadConfig } from '#config/load.ts';
import { authority } from '../support/certificates.ts';
import { invalidObjects, kubeconform, kubernetesSchemas } from '../support/kubeconform.ts';
import { invalidValues } from '../support/kubernetes-models.ts';
import { all, kubectl, KUBERNETES, kustomize, only, podOf, type Manifest } from '../support/kustomize.ts';
import { tempDir } from '../support/temp-dir.ts';

const ROOT = join(import.meta.dirname, '../..');
const BASE = join(KUBERNETES, 'base');
const EXAMPLE = join(KUBERNETES, 'overlays/example');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const secretsExample = parseAllDocuments(read('deploy/kubernetes/secrets.example.yaml')).map(
  (document) => document.toJS() as ISecret & Manifest,
);

/** Files that the example cannot contain. */
const { cert, key } = await (await authority()).issue({ sans: [{ type: 'dns', value: 'opsd' }] });
const certificate = { 'tls.crt': cert, 'tls.key': key };

/** Loads the configuration as the daemon in the pod does: on its volumes, with the documented Secrets. */
function configOf(manifests: readonly Manifest[], change = (text: string) => text) {
  const root = tempDir();
  const here = (text: string): string => change(text).replaceAll(/(?<= )\/(?=etc\/|run\/)/g, `${root}/`);
  const { spec: pod, container } = podOf(manifests);
  for (const { name, mountPath } of container.volumeMounts!) {
    const { configMap, secret } = pod.volumes!.find((volume) => volume.name === name)!;
    const files =
      configMap?.name === 'opsd-config'
        ? only(manifests, 'ConfigMap', 'opsd-config').data
        : secretsExample.find(({ metadata }) => metadata.name === secret?.secretName)?.stringData;
    mkdirSync(join(root, mountPath), { recursive: true });
    for (const [file, text] of Object.entries({ ...files, ...(secret?.secretName === 'opsd-tls' && certificate) }))
      writeFileSync(join(root, mountPath, file), here(text));
  }
  const loaded = loadConfig(join(root, 'etc/opsd/config.yaml'), { env: imageEnvironment() });
  if (!loaded.ok) throw new Error(loaded.problems.map(({ path, message }) => `${path}: ${message}`).join('\n'));
  return { ...loaded, root };
}

function imageEnvironment(): Record<string, string> {
  return Object.fromEntries(
    [...read('Dockerfile').matchAll(/\b(OPSD_\w+)=(\S+)/g)].map(([, name, value]) => [name, value]),
  );
}

/** Maps whose keys are the user's own. */
const FREE = ['labels', 'annotations', 'matchLabels', 'data', 'stringData', 'requests', 'limits'];

/** Returns one object with a misspelled field, for each field that a kind has. */
function misspelt(manifests: readonly Manifest[]): Manifest[] {
  const found: Manifest[] = [];
  const seen = new Set<string>();
  for (const manifest of manifests) {
    const copy = structuredClone(manifest);
    const walk = (value: object, path: string): void => {
      const under = path.split('.').at(-1)!.replaceAll('[]', '');
      if (FREE.includes(under) || (manifest.kind === 'Service' && under === 'selector')) return;
      const mapping = value as Record<string, unknown>;
      for (const [key, inner] of Object.entries(mapping)) {
        const at = Array.isArray(value) ? `${path}[]` : `${path}.${key}`;
        if (!Array.isArray(value) && value !== copy && !seen.has(at)) {
          seen.add(at);
          delete mapping[key];
          mapping[`${key}x`] = inner;
          found.push(structuredClone(copy));
          delete mapping[`${key}x`];
          mapping[key] = inner;
        }
        if (typeof inner === 'object' && inner !== null) walk(inner, at);
      }
    };
    walk(copy, manifest.kind);
  }
  return found;
}

/** Returns the volume of a path, and the rest of the path. */
function mountOf(manifests: readonly Manifest[], path: string) {
  const { spec: pod, container } = podOf(manifests);
  const mounts = container.volumeMounts!.filter(
    ({ mountPath }) => path === mountPath || path.startsWith(`${mountPath}/`),
  );
  const mount = mounts.sort((a, b) => b.mountPath.length - a.mountPath.length)[0];
  const volume = pod.volumes!.find(({ name }) => name === mount?.name);
  return { volume, rest: path.slice((mount?.mountPath.length ?? 0) + 1) };
}

/** Returns every path of a key named …File in a configuration. */
function secretFiles(text: string): string[] {
  return [...text.matchAll(/\b\w+File: ([^\s,}]+)/g)]
    .map((match) => match[1]!)
    .filter((path) => path.startsWith('/run/'));
}

const configText = (manifests: readonly Manifest[]): string =>
  only(manifests, 'ConfigMap', 'opsd-config').data!['config.yaml']!;

/** Enables the commented lines of the configuration. */
const withCommented = (text: string): string => text.replace(/^( *)#(?! \S)/gm, '$1');

describe.skipIf(kubectl === undefined)('deploy/kubernetes', () => {
  const base = kubectl === undefined ? [] : kustomize(BASE);
  const example = kubectl === undefined ? [] : kustomize(EXAMPLE);

  describe.skipIf(kubeconform === undefined)('by the schemas of the API', () => {
    const schemas = kubeconform === undefined ? '' : kubernetesSchemas();
    afterAll(() => rmSync(schemas, { recursive: true, force: true }));

    test.each([
      ['the base', base],
      ['the example', example],
      ['the example of Secrets', secretsExample],
    ])('%s is valid: known fields, values of their types', (_name, manifests) => {
      expect(manifests.length).toBeGreaterThan(3);
      expect(invalidValues(manifests)).toEqual([]);
      expect(invalidObjects(manifests, schemas)).toEqual([]);
    });

    test('any misspelled field would be rejected', () => {
      const wrong = misspelt(example);
      expect(wrong.length).toBeGreaterThan(120);
      expect(invalidObjects(wrong, schemas)).toHaveLength(wrong.length);
    });
  });

  test.each([
    ['the base', base],
    ['the example', example],
  ])('%s has a configuration that loads without a word, and acts on nothing yet', (_name, manifests) => {
    const { warnings, config } = configOf(manifests);
    expect(warnings).toEqual([]);
    expect(config.policies.map(({ settings }) => settings.mode)).not.toContain('enforce');
    expect(configOf(manifests, withCommented).warnings).toEqual([]);
  });

  test.each([
    ['the base', base],
    ['the example', example],
  ])('%s: ports are those of the daemon, and names of ports those of the pod', (_name, manifests) => {
    const { container } = podOf(manifests);
    const { config } = configOf(manifests);
    const ports = Object.fromEntries(container.ports!.map(({ name, containerPort }) => [name, containerPort]));
    expect(ports).toEqual({
      metrics: config.server.listen.port,
      hooks: config.hooks.listen?.port,
      probes: config.server.probes.listen?.port,
    });
    // IPv6 or IPv4: pods may have only addresses of one kind.
    for (const listen of [config.server.listen, config.hooks.listen, config.server.probes.listen])
      expect(listen?.host).toBe('::');
    for (const probe of [container.startupProbe, container.livenessProbe, container.readinessProbe])
      expect(probe?.httpGet?.port).toBe('probes');
    for (const [name, port] of [['opsd', 'metrics'] as const, ['opsd-hooks', 'hooks'] as const])
      expect(only(manifests, 'Service', name).spec!.ports).toEqual([
        { name: port, port: ports[port], targetPort: port },
      ]);
    const { ingress, egress, policyTypes } = only(manifests, 'NetworkPolicy').spec!;
    expect(policyTypes).toEqual(['Ingress', 'Egress']);
    expect(ingress!.map(({ ports: allowed }) => allowed)).toEqual([
      [{ protocol: 'TCP', port: 'metrics' }],
      [{ protocol: 'TCP', port: 'hooks' }],
    ]);
    // Names, TLS to everywhere, traces within the cluster.
    expect(egress).toEqual([
      {
        ports: [
          { protocol: 'UDP', port: 53 },
          { protocol: 'TCP', port: 53 },
        ],
      },
      { ports: [{ protocol: 'TCP', port: 443 }] },
      { to: [{ namespaceSelector: {} }], ports: [{ protocol: 'TCP', port: 4318 }] },
    ]);
    // Pages and the API are restricted.
    expect(ingress![0]!.from).toHaveLength(1);
  });

  test('paths are those of the image, and are on the intended volumes', () => {
    const { container } = podOf(base);
    const image = imageEnvironment();
    expect(container.command ?? container.args).toBeUndefined();
    const { config, root } = configOf(base);
    expect(mountOf(base, image['OPSD_CONFIG']!)).toMatchObject({
      volume: { configMap: { name: 'opsd-config' } },
      rest: 'config.yaml',
    });
    expect(config.localPath).toBe(image['OPSD_STORE']);
    expect(mountOf(base, image['OPSD_STORE']!)).toMatchObject({
      volume: { persistentVolumeClaim: { claimName: only(base, 'PersistentVolumeClaim', 'opsd-data').metadata.name } },
    });
    expect(mountOf(base, config.engine.killSwitchFile!.slice(root.length))).toMatchObject({
      volume: { configMap: { name: 'opsd-pause', optional: true } },
      rest: 'PAUSE',
    });
    // A file that is mounted alone is never updated.
    expect(container.volumeMounts!.filter((mount) => 'subPath' in mount || 'subPathExpr' in mount)).toEqual([]);
    const writable = container
      .volumeMounts!.filter(({ readOnly }) => readOnly !== true)
      .map(({ mountPath }) => mountPath);
    expect(writable).toEqual(['/var/lib/opsd', '/tmp']);
  });

  test.each([
    ['the base', base],
    ['the example', example],
  ])('%s: every Secret is documented, and every file of a secret is a key of one', (_name, manifests) => {
    const { spec: pod } = podOf(manifests);
    const secrets = pod.volumes!.flatMap(({ secret }) => (secret === undefined ? [] : [secret]));
    const documented = new Map(secretsExample.map((secret) => [secret.metadata.name, Object.keys(secret.stringData!)]));
    const docs = read('docs/kubernetes.md');
    for (const { secretName } of secrets) {
      expect(documented.has(secretName!), secretName).toBe(true);
      expect(docs).toContain(`\`${secretName}\``);
    }
    const needed = secrets.filter(({ optional }) => optional !== true).map(({ secretName }) => secretName);
    expect(needed).toEqual(expect.arrayContaining(['opsd-service', 'opsd-hooks']));

    const files = secretFiles(withCommented(configText(manifests)));
    expect(files.length).toBeGreaterThan(6);
    for (const file of files) {
      const { volume, rest } = mountOf(manifests, file);
      expect(documented.get(volume?.secret?.secretName ?? ''), file).toContain(rest);
    }
    // The unchanged base needs no optional Secret.
    if (manifests === base)
      for (const file of secretFiles(configText(base).replace(/^ *#.*/gm, '')))
        expect(needed).toContain(mountOf(base, file).volume!.secret!.secretName);
  });

  test('with TLS and users, Prometheus authenticates as one of them, and everything it needs is documented', async () => {
    const { config } = configOf(example);
    const { basicAuth, tlsConfig, scheme } = only(example, 'ServiceMonitor').spec.endpoints[0]!;
    expect([scheme, tlsConfig?.serverName]).toEqual(['https', 'opsd']);
    expect(config.security.server).toMatchObject({ tls: expect.anything() });
    const told = (of?: { name?: string; key?: string }): string | undefined =>
      secretsExample.find(({ metadata }) => metadata.name === of?.name)?.stringData?.[of?.key ?? ''];
    expect(told(tlsConfig?.ca?.secret)).toBeDefined();
    const hash = config.security.server!.users.get(told(basicAuth?.username)!);
    expect(await compare(told(basicAuth?.password)!, hash!.reveal())).toBe(true);
    const users = [...config.security.server!.users.keys()];
    expect(users).toEqual(expect.arrayContaining(Object.keys(config.server.users)));
    // Without the component there is no TLS.
    expect(configOf(base).config.security.server).toBeUndefined();
    expect(podOf(base).spec.volumes!.map(({ name }) => name)).not.toContain('secret-web');
  });

  test.each([
    ['the base', base],
    ['the example', example],
  ])('%s: restricted pod security admits the pod', (_name, manifests) => {
    const { spec: pod, container } = podOf(manifests);
    expect(pod.containers).toHaveLength(1);
    expect(pod.initContainers ?? pod.ephemeralContainers).toBeUndefined();
    expect(pod.hostNetwork ?? pod.hostPID ?? pod.hostIPC ?? pod.hostUsers).toBeUndefined();
    const own = Number(/^USER (\d+):\1$/m.exec(read('Dockerfile'))![1]);
    expect(pod.securityContext).toEqual({
      runAsNonRoot: true,
      runAsUser: own,
      runAsGroup: own,
      fsGroup: own,
      fsGroupChangePolicy: 'OnRootMismatch',
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    expect(container.ports!.filter((port) => 'hostPort' in port || 'hostIP' in port)).toEqual([]);
    const admitted = ['configMap', 'secret', 'persistentVolumeClaim', 'emptyDir'];
    for (const { name, ...source } of pod.volumes!) expect(admitted, name).toContain(Object.keys(source).join());
    // The pod gets no credentials of the API server.
    expect(pod.automountServiceAccountToken).toBe(false);
    expect(only(manifests, 'ServiceAccount').automountServiceAccountToken).toBe(false);
    expect(pod.enableServiceLinks).toBe(false);
  });

  test.each([
    ['the base', base],
    ['the example', example],
  ])('%s: selectors match the labels of their targets, and nothing else', (_name, manifests) => {
    const labels = podOf(manifests).metadata.labels!;
    const meets = (selector: Readonly<Record<string, string>>, of: Readonly<Record<string, string>>): boolean =>
      Object.entries(selector).every(([key, value]) => of[key] === value);
    const { selector } = only(manifests, 'Deployment').spec!;
    const services = all(manifests, 'Service');
    const policy = only(manifests, 'NetworkPolicy').spec!.podSelector;
    for (const one of [
      selector.matchLabels!,
      policy?.matchLabels ?? {},
      ...services.map(({ spec }) => spec!.selector!),
    ]) {
      expect(Object.keys(one)).toEqual(['app.kubernetes.io/instance', 'app.kubernetes.io/name']);
      expect(meets(one, labels)).toBe(true);
    }
    for (const { metadata } of manifests.filter(({ kind }) => kind !== 'Namespace'))
      expect(metadata.labels, metadata.name).toMatchObject({
        'app.kubernetes.io/name': 'opsd',
        'app.kubernetes.io/instance': 'opsd',
        'app.kubernetes.io/part-of': 'msgsvc-opsd',
      });
    for (const monitor of all(manifests, 'ServiceMonitor')) {
      const met = services.filter(({ metadata }) => meets(monitor.spec.selector.matchLabels!, metadata.labels!));
      expect(met.map(({ metadata }) => metadata.name)).toEqual(['opsd']);
      expect(met[0]!.spec!.ports!.map(({ name }) => name)).toEqual(monitor.spec.endpoints?.map(({ port }) => port));
      // The rules and the dashboards use this name of the job.
      expect(met[0]!.metadata.labels![monitor.spec.jobLabel!]).toBe('opsd');
    }
  });

  test('one daemon on one store, which ends before the next one begins, and has the time to end', () => {
    const { replicas, strategy } = only(base, 'Deployment').spec!;
    expect([replicas, strategy]).toEqual([1, { type: 'Recreate' }]);
    const claim = only(base, 'PersistentVolumeClaim', 'opsd-data');
    expect(claim.spec!.accessModes).toEqual(['ReadWriteOncePod']);
    expect(only(example, 'PersistentVolumeClaim', 'opsd-data').spec!.accessModes).toEqual(['ReadWriteOnce']);

    // Sums the stop times of the daemon's parts, which run in sequence. Each daemon has one of the two storages.
    const parts = readdirSync(new URL('../../src/app', import.meta.url)).flatMap((file) =>
      [...read(`src/app/${file}`).matchAll(/\bending\((['`][^'`]+['`]), ([\d_]+),/g)].map(([, , ms]) => ({
        file,
        ms: Number(ms!.replaceAll('_', '')),
      })),
    );
    expect(parts.length).toBeGreaterThan(11);
    const totals = ['local-storage.ts', 'shared-storage.ts'].map((other) =>
      parts.filter(({ file }) => file !== other).reduce((sum, { ms }) => sum + ms, 0),
    );
    const longestMs = Math.max(...totals);
    const { spec: pod, container } = podOf(base);
    expect(pod.terminationGracePeriodSeconds! * 1_000).toBeGreaterThanOrEqual(longestMs);
    // A reload stops and starts everything while the kubelet probes.
    const { periodSeconds, failureThreshold } = container.livenessProbe!;
    expect(periodSeconds! * failureThreshold! * 1_000).toBeGreaterThan(longestMs + 30_000);
  });

  test('the image is in one place, without a host, with the version of the package', () => {
    const { version } = JSON.parse(read('package.json')) as { version: string };
    expect(podOf(base).container.image).toBe(`opsd:${version}`);
    expect(podOf(example).container.image).toBe(`images.example.com/platform/opsd:${version}`);
    expect(only(base, 'Deployment').spec!.template.spec!.containers).toHaveLength(1);
  });

  test('an update of the ConfigMap reaches the running pod: no name carries a hash', () => {
    for (const manifests of [base, example]) {
      const configMaps = all(manifests, 'ConfigMap').map(({ metadata }) => metadata.name);
      expect(configMaps).toContain('opsd-config');
      expect(configMaps.filter((name) => /-[bcdfghkmt2456789]{10}$/.test(name))).toEqual([]);
      expect(mountOf(manifests, '/etc/opsd/config.yaml').volume).toMatchObject({ configMap: { name: 'opsd-config' } });
    }
    expect(Object.keys(only(example, 'ConfigMap', 'opsd-config').data!)).toEqual([
      'config.yaml',
      'policies-billing.yaml',
    ]);
  });

  test('each dashboard is a ConfigMap that Grafana finds', () => {
    const folder = join(ROOT, 'dashboards/json');
    const files = readdirSync(folder);
    expect(files.length).toBeGreaterThan(1);
    const maps = all(example, 'ConfigMap').filter(({ metadata }) => metadata.labels?.['grafana_dashboard'] === '1');
    expect(maps.flatMap(({ data }) => Object.keys(data!)).sort()).toEqual(files.sort());
    for (const { data } of maps) {
      const [[name, text]] = Object.entries(data!) as [[string, string]];
      expect(text).toBe(readFileSync(join(folder, name), 'utf8'));
    }
  });

  test('every object is small enough for kubectl apply, which keeps it whole in an annotation', () => {
    for (const manifest of example)
      expect(Buffer.byteLength(JSON.stringify(manifest)), manifest.metadata.name).toBeLessThan(250 * 1_024);
  });

  test('the rules are those of Prometheus, with the labels of the rest', () => {
    const { spec } = only(example, 'PrometheusRule', 'msgsvc-opsd');
    expect(spec.groups).toEqual(RULE_FILES.flatMap((file) => (parse(read(file)) as { groups: unknown[] }).groups));
  });
});
