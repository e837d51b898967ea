import { HIGHEST_PORT, LISTEN_FORM, splitListen, type ListenAddress } from '#foundation/settings/listen-address.ts';
import { UsageError } from '../command.ts';

/** Parses the address of `--listen` like one in the configuration. */
export function listenAddress(text: string): ListenAddress {
  const address = splitListen(text);
  if (LISTEN_FORM.test(text) && address.port <= HIGHEST_PORT) return address;
  throw new UsageError(`--listen must be an address such as 127.0.0.1:8080, not '${text}'`);
}
