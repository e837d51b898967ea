/** Credentials of the configuration, which are read again when their files change. */
import type { EventBus } from '#foundation/events/events.ts';
import { Secret } from '#foundation/platform/secret.ts';

/** Returns a credential of the configuration, whose file is read again when it changes. '' stands for no account. */
export function credentialOf(
  events: EventBus,
  { account = '', credential }: { readonly account?: string; readonly credential: string },
  value: string | undefined,
  file: string | undefined,
): Secret {
  if (value !== undefined) return Secret.of(value);
  return Secret.fromFile(file!, (read) => events.emit({ type: 'credential.read', account, credential, ...read }));
}
