/** The compose file, checked without a container engine. test/system/compose.test.ts checks it with a real one. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

const ROOT = join(import.meta.dirname, '../..');
const FOLDER = join(ROOT, 'deploy/compose');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

interface Service {
  readonly image?: string;
  readonly build?: string;
  readonly command?: readonly string[];
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly tmpfs?: readonly string[];
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly stop_grace_period?: string;
  readonly networks?: { readonly default: { readonly aliases: readonly string[] } };
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes?: Readonly<Record<string, unknown>>;
}

const compose = parse(readFileSync(join(FOLDER, 'compose.yaml'), 'utf8'), { merge: true }) as Compose;
const own = parse(readFileSync(join(FOLDER, 'compose.own.yaml'), 'utf8')) as Compose;
const services = Object.entries(compose.services);
const service = (name: string): Service => compose.services[name]!;

/**
 * Returns source and target of a volume, with the default of a variable that has one; undefined where it is required.
 */
function volumes(of: Service): { source: string | undefined; target: string; readOnly: boolean }[] {
  return (of.volumes ?? []).map((text) => {
    const [, source, target, mode] = /^(\$\{[^}]*\}|[^:]*):([^:]*)(?::(ro))?$/.exec(text)!;
    return { source: source!.startsWith('${') ? undefined : source, target: target!, readOnly: mode === 'ro' };
  });
}

/** Returns the file of this machine behind a path in a container, by the service's mounts. */
function behind(of: Service, path: string): string {
  const mount = volumes(of).find(({ target }) => path === target || path.startsWith(`${target}/`))!;
  return join(FOLDER, mount.source!, path.slice(mount.target.length));
}

describe('deploy/compose', () => {
  test('has its related parts', () => {
    expect(Object.keys(compose.services)).toEqual(['opsd', 'prometheus', 'alertmanager', 'tempo', 'grafana']);
    expect(Object.keys(own.services).filter((name) => !(name in compose.services))).toEqual([]);
  });

  test.each(services)('%s: pinned, confined, and for this machine alone', (_name, one) => {
    // The version can be set, and no default is a moving tag.
    expect(one.image).toMatch(/^(?:[a-z]+\/)?[a-z]+:\$\{[A-Z]+_TAG:-v?\d+\.\d+\.\d+\}$/);
    expect(one).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      tmpfs: ['/tmp'],
    });
    expect(one.ports!.length).toBeGreaterThan(0);
    for (const port of one.ports!) expect(port).toMatch(/^127\.0\.0\.1:\$\{[A-Z]+_PORT:-(\d+)\}:\1$/);
  });

  test.each([...services, ...Object.entries(own.services)])('%s: mounted files exist', (_name, one) => {
    const mounts = volumes(one);
    expect(mounts.length).toBeGreaterThan(0);
    for (const { source, target, readOnly } of mounts) {
      const isVolume = source !== undefined && !source.startsWith('.');
      expect(readOnly, target).toBe(!isVolume);
      if (isVolume) expect(Object.keys(compose.volumes!)).toContain(source);
      else if (source !== undefined) expect(existsSync(join(FOLDER, source)), source).toBe(true);
    }
  });

  test('the daemon is the demo by default, built here, kept, and monitored by its image', () => {
    const { image, build, command, stop_grace_period: grace } = service('opsd');
    const { version } = JSON.parse(read('package.json')) as { version: string };
    expect(image).toBe(`opsd:\${OPSD_TAG:-${version}}`);
    expect(existsSync(join(FOLDER, build!, 'Dockerfile'))).toBe(true);
    expect(command).toEqual(['demo']);
    expect(read('Dockerfile')).toMatch(/^HEALTHCHECK /m);
    expect(volumes(service('opsd'))).toMatchObject([{ target: '/var/lib/opsd', readOnly: false }]);
    const kubernetes = /terminationGracePeriodSeconds: (\d+)/.exec(read('deploy/kubernetes/base/deployment.yaml'))![1];
    expect(grace).toBe(`${kubernetes}s`);
  });

  test('with the own configuration the daemon runs as its image does by default, and hooks have a port', () => {
    const cmd = /^CMD (\[.*\])$/m.exec(read('Dockerfile'))![1]!;
    expect(own.services['opsd']!.command).toEqual(JSON.parse(cmd));
    expect(volumes(own.services['opsd']!).map(({ target }) => target)).toEqual(['/etc/opsd', '/run/secrets']);
    expect(own.services['opsd']!.ports).toEqual(['127.0.0.1:${OPSD_HOOKS_PORT:-10778}:10778']);
    // The example for Alertmanager finds its secrets, and the daemon by its known name.
    const example = read('deploy/alertmanager/alertmanager.yaml');
    const files = [...example.matchAll(/_file: (\S+?)(?: \}|$)/gm)].map((match) => match[1]!);
    expect(files.length).toBeGreaterThan(2);
    const mounted = volumes(own.services['alertmanager']!).map(({ target }) => target);
    for (const file of files) expect(mounted).toContain(file.slice(0, file.lastIndexOf('/')));
    const [, host, port] = /url: http:\/\/([\w-]+):(\d+)\/hooks\//.exec(example)!;
    expect(service('opsd').networks!.default.aliases).toContain(host);
    expect(port).toBe('10778');
  });

  test('Prometheus finds its rules, the daemon and Alertmanager', () => {
    const one = service('prometheus');
    const path = one.command!.find((argument) => argument.startsWith('--config.file='))!.slice('--config.file='.length);
    const file = behind(one, path);
    const config = parse(readFileSync(file, 'utf8')) as {
      rule_files: string[];
      scrape_configs: { job_name: string; static_configs: { targets: string[] }[] }[];
      alerting: { alertmanagers: { static_configs: { targets: string[] }[] }[] };
    };
    const there = readdirSync(join(file, '..')).filter((name) => /^opsd-.*\.yaml$/.test(name));
    expect(config.rule_files.sort()).toEqual(there.sort());
    expect(config.scrape_configs).toEqual([{ job_name: 'opsd', static_configs: [{ targets: ['opsd:10777'] }] }]);
    expect(config.alerting.alertmanagers[0]!.static_configs[0]!.targets).toEqual(['alertmanager:9093']);
    expect(own.services['prometheus']).toBeUndefined();
  });

  test('the demo sends its alerts only to the daemon, which runs a policy on one', () => {
    const one = service('alertmanager');
    const config = parse(readFileSync(behind(one, '/etc/alertmanager/alertmanager.yaml'), 'utf8')) as {
      route: { routes: { matchers: string[]; receiver: string }[] };
      receivers: { name: string; webhook_configs?: { url: string; http_config: { authorization: object } }[] }[];
    };
    expect(one.command).toContain('--config.file=/etc/alertmanager/alertmanager.yaml');
    expect(config.route.routes).toMatchObject([{ matchers: ['area=~".+"'], receiver: 'opsd' }]);
    const [daemon, discard] = config.receivers;
    expect(discard).toEqual({ name: 'discard' });
    const [hook] = daemon!.webhook_configs!;
    const { hostname, port, pathname } = new URL(hook!.url);
    expect(service('opsd').networks!.default.aliases).toContain(hostname);
    const demo = parse(read('src/cli/commands/demo.yaml')) as {
      hooks: { listen: string; alertmanager: Record<string, { token: string }> };
      policies: { name: string; mode: string; on?: { alert?: string } }[];
    };
    const [, variable] = /^\$\{env:(\w+)\}$/.exec(demo.hooks.listen)!;
    expect(service('opsd').environment![variable!]).toBe(`:${port}`);
    const { token } = demo.hooks.alertmanager[pathname.split('/').at(-1)!]!;
    expect(hook!.http_config.authorization).toEqual({ credentials: token });
    const triggered = demo.policies.filter(({ on }) => on?.alert !== undefined);
    expect(triggered).toMatchObject([{ mode: 'audit', on: { alert: expect.any(String) } }]);
    const rules = readdirSync(join(ROOT, 'deploy/prometheus')).filter((name) => /^opsd-alerts.*\.yaml$/.test(name));
    const texts = rules.map((name) => read(`deploy/prometheus/${name}`)).join('\n');
    expect(texts).toContain(`alert: ${triggered[0]!.on!.alert}\n`);
  });

  test('spans of the daemon go to Tempo', () => {
    const one = service('tempo');
    const path = one.command!.find((argument) => argument.startsWith('-config.file='))!.slice('-config.file='.length);
    const config = parse(readFileSync(behind(one, path), 'utf8')) as {
      server: { http_listen_port: number };
      distributor: { receivers: { otlp: { protocols: { http: { endpoint: string } } } } };
      storage: { trace: { local: { path: string }; wal: { path: string } } };
    };
    const { port } = new URL(service('opsd').environment!['OTEL_EXPORTER_OTLP_ENDPOINT']!);
    expect(config.distributor.receivers.otlp.protocols.http.endpoint).toBe(`0.0.0.0:${port}`);
    expect(one.ports![0]).toContain(`:${config.server.http_listen_port}`);
    const { local, wal } = config.storage.trace;
    for (const kept of [local.path, wal.path]) {
      expect(volumes(one).some(({ target, readOnly }) => !readOnly && kept.startsWith(`${target}/`))).toBe(true);
    }
  });

  test('Grafana gets the datasource that the dashboards require, and all of them', () => {
    const one = service('grafana');
    const provisioned = (kind: string): unknown => {
      const folder = behind(one, `/etc/grafana/provisioning/${kind}`);
      const files = readdirSync(folder);
      expect(files).toHaveLength(1);
      return parse(readFileSync(join(folder, files[0]!), 'utf8'));
    };
    const { datasources } = provisioned('datasources') as { datasources: Record<string, unknown>[] };
    expect(datasources).toMatchObject([
      { type: 'prometheus', isDefault: true, url: 'http://prometheus:9090' },
      { type: 'tempo', url: 'http://tempo:3200' },
    ]);
    const { scrape_interval: interval } = (
      parse(read('deploy/prometheus/prometheus.yaml')) as { global: Record<string, string> }
    ).global;
    expect(datasources[0]!['jsonData']).toMatchObject({ timeInterval: interval });

    const { providers } = provisioned('dashboards') as { providers: { type: string; options: { path: string } }[] };
    expect(providers).toMatchObject([{ type: 'file' }]);
    const folder = behind(one, providers[0]!.options.path);
    expect(folder).toBe(join(ROOT, 'dashboards/json'));
    for (const name of readdirSync(folder)) {
      const { templating } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as {
        templating: { list: { name: string; type: string; query: unknown; current?: unknown }[] };
      };
      const variable = templating.list.find(({ type }) => type === 'datasource');
      expect(variable, name).toMatchObject({ name: 'datasource', query: datasources[0]!['type'] });
    }
    const home = one.environment!['GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH']!;
    expect(statSync(behind(one, home)).isFile()).toBe(true);
  });
});
