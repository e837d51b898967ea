/**
 * Where the configuration is silent, a container's image may say where to listen and where to keep state: OPSD_LISTEN
 * and OPSD_STORE take the place of the built-in defaults, never of a key.
 */
import { serverSettings } from '../server/settings.ts';
import type { ConfigSettings } from './settings.ts';
import type { Fault } from './source-text.ts';
import { type Place, placeAt } from './yaml-place.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export function environmentDefaults(
  settings: ConfigSettings,
  root: Place,
  env: Environment,
): { readonly settings: ConfigSettings; readonly faults: readonly Fault[] } {
  const { OPSD_LISTEN: listen, OPSD_STORE: store } = env;
  const faults: Fault[] = [];
  let { server, storage } = settings;
  if (isGiven(listen) && placeAt(root, ['server', 'listen']) === undefined) {
    const parsed = serverSettings.safeParse({ listen });
    if (parsed.success) server = parsed.data;
    else
      faults.push({
        start: 0,
        end: 1,
        path: 'server.listen',
        message: `OPSD_LISTEN: ${parsed.error.issues[0]!.message}`,
      });
  }
  if (isGiven(store) && placeAt(root, ['storage', 'sqlite', 'path']) === undefined)
    storage = { sqlite: { path: store } };
  return { settings: { ...settings, server, storage }, faults };
}

function isGiven(text: string | undefined): text is string {
  return text !== undefined && text !== '';
}
