/** The web configuration files of the listeners. */
import type { Config } from '#config/config.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { EventBus } from '#foundation/events/events.ts';
import { Door } from '#operate/http/door.ts';

/** The listeners that may have a web configuration file. */
const LISTENERS = ['server', 'hooks'] as const;
type Listener = (typeof LISTENERS)[number];

export type Doors = { readonly [L in Listener]?: Door };

/** @throws {Error} when a file is named whose contents are not there: nothing must be served without it */
export function openDoors(config: Config, clock: Clock): Doors {
  const doors: { [L in Listener]?: Door } = {};
  for (const listener of LISTENERS) {
    const web = config.doors[listener];
    if (web !== undefined) doors[listener] = new Door(web, clock);
    else if (config[listener].webConfigFile !== undefined) throw new Error(`${listener}.webConfigFile was not read`);
  }
  return doors;
}

/** What has changed in the files holds from now on. @returns whether anything has */
export function takeDoors(doors: Doors, next: Config, events: EventBus): boolean {
  let hasChanged = false;
  for (const listener of LISTENERS) {
    const [door, web] = [doors[listener], next.doors[listener]];
    if (door === undefined || web === undefined || web.digest === door.web.digest) continue;
    door.take(web);
    events.emit({ type: 'web_config.changed', listener });
    hasChanged = true;
  }
  return hasChanged;
}

/** When the first of the certificates of each listener ends. */
export function certificatesOf(doors: Doors): { readonly listener: string; readonly notAfter: number }[] {
  return LISTENERS.flatMap((listener) => {
    const notAfter = doors[listener]?.web.tls?.notAfter;
    return notAfter === undefined ? [] : [{ listener, notAfter }];
  });
}
