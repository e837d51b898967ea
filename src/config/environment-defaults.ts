/**
 * Defaults from the environment, for container images: OPSD_LISTEN, OPSD_PROBES_LISTEN and OPSD_STORE replace the
 * built-in defaults, but never a key of the configuration.
 */
import { DEFAULT_STORE_PATH } from '#foundation/platform/socket-path.ts';
import { serverSettings } from '#operate/http/settings.ts';
import type { ConfigSettings } from './settings.ts';
import type { Fault } from './source-text.ts';
import { type Place, placeAt } from './yaml-place.ts';

type ServerSettings = ConfigSettings['server'];
type Environment = Readonly<Record<string, string | undefined>>;

interface EnvironmentDefaults {
  readonly settings: ConfigSettings;
  /** Path of the store, relative to the configuration. */
  readonly storePath: string;
  readonly faults: readonly Fault[];
}

export function environmentDefaults(settings: ConfigSettings, root: Place, env: Environment): EnvironmentDefaults {
  const { OPSD_LISTEN: listen, OPSD_PROBES_LISTEN: probes, OPSD_STORE: store } = env;
  const faults: Fault[] = [];
  let { server } = settings;

  /** @param given equivalent configuration, for the same checks */
  function take(name: string, path: readonly string[], given: object): ServerSettings | undefined {
    if (placeAt(root, path) !== undefined) return undefined;
    const parsed = serverSettings.safeParse(given);
    if (parsed.success) return parsed.data;
    faults.push({ start: 0, end: 1, path: path.join('.'), message: `${name}: ${parsed.error.issues[0]!.message}` });
    return undefined;
  }

  if (isGiven(listen)) {
    const taken = take('OPSD_LISTEN', ['server', 'listen'], { listen });
    if (taken !== undefined) server = { ...server, listen: taken.listen };
  }
  if (isGiven(probes)) {
    const taken = take('OPSD_PROBES_LISTEN', ['server', 'probes', 'listen'], { probes: { listen: probes } });
    if (taken !== undefined) server = { ...server, probes: taken.probes };
  }
  const { sqlite } = settings.storage;
  const isWritten = sqlite !== undefined && placeAt(root, ['storage', 'sqlite', 'path']) !== undefined;
  const storePath = isWritten ? sqlite.path : store || DEFAULT_STORE_PATH;
  return { settings: { ...settings, server }, storePath, faults };
}

function isGiven(text: string | undefined): text is string {
  return text !== undefined && text !== '';
}
