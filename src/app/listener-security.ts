/** Web configuration files of the listeners. */
import type { Config } from '#config/config.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { EventBus } from '#foundation/events/events.ts';
import { ListenerSecurity } from '#operate/http/listener-security.ts';
import { listenerShape, type WebConfig } from '#operate/http/web-settings.ts';

/** Listeners that may have a web configuration file. */
const LISTENERS = ['server', 'hooks'] as const;
type Listener = (typeof LISTENERS)[number];

/** ListenerSecurities of all listeners, so that a file that is configured later needs no new listener. */
export type ListenerSecurities = { readonly [L in Listener]: ListenerSecurity };

const NO_FILE: WebConfig = { headers: {}, users: new Map(), digest: '' };

/** @throws {Error} if a configured file has no contents: the listener must not serve without it */
export function createSecurity(config: Config, clock: Clock): ListenerSecurities {
  return {
    server: new ListenerSecurity(webOf(config, 'server'), clock),
    hooks: new ListenerSecurity(webOf(config, 'hooks'), clock),
  };
}

/** Applies changed files. @returns true if any file has changed */
export function replaceSecurity(security: ListenerSecurities, next: Config, events: EventBus): boolean {
  let hasChanged = false;
  for (const listener of LISTENERS) {
    const web = webOf(next, listener);
    if (web.digest === security[listener].web.digest) continue;
    security[listener].take(web);
    events.emit({ type: 'web_config.changed', listener });
    hasChanged = true;
  }
  return hasChanged;
}

/** Returns true if the next configuration requires a listener to be reopened: TLS starts, ends or differs. */
export function needsOtherListeners(security: ListenerSecurities, next: Config): boolean {
  return LISTENERS.some((listener) => listenerShape(security[listener].web) !== listenerShape(webOf(next, listener)));
}

function webOf(config: Config, listener: Listener): WebConfig {
  const web = config.security[listener];
  if (web === undefined && config[listener].webConfigFile !== undefined) {
    throw new Error(`${listener}.webConfigFile was not read`);
  }
  return web ?? NO_FILE;
}

export interface ListenerCertificate {
  readonly listener: string;
  readonly file: string;
  /** Expiry of the first certificate of the chain to expire, in epoch milliseconds. */
  readonly notAfter: number;
}

export function certificatesOf(security: ListenerSecurities): readonly ListenerCertificate[] {
  return LISTENERS.flatMap((listener) => certificateOf(listener, security[listener].web));
}

function certificateOf(listener: Listener, { tls }: WebConfig): readonly ListenerCertificate[] {
  return tls === undefined ? [] : [{ listener, file: tls.certFile, notAfter: tls.notAfter }];
}

/** @throws {Error} if an expired certificate would replace one that clients accept */
export function assertNotExpired(security: ListenerSecurities, next: Config, now: number): void {
  for (const { listener, file, notAfter } of LISTENERS.flatMap((one) => certificateOf(one, webOf(next, one)))) {
    const [present] = certificatesOf(security).filter((one) => one.listener === listener);
    if (notAfter > now || present === undefined || present.notAfter <= now) continue;
    throw new Error(
      `${listener}.webConfigFile: the certificate in ${file} expired at ${iso(notAfter)}, and the one in use is valid until ` +
        `${iso(present.notAfter)}, so the listener keeps it. Write a valid certificate to the file.`,
    );
  }
}

const iso = (at: number): string => new Date(at).toISOString();
