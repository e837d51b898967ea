import type { ListenAddress } from '#foundation/settings/blocks.ts';
import { UsageError } from '../command.ts';

/** Parses the address of `--listen` like one in the configuration. */
export async function listenAddress(text: string): Promise<ListenAddress> {
  const { listenSetting } = await import('#foundation/settings/blocks.ts');
  const parsed = listenSetting().safeParse(text);
  if (parsed.success) return parsed.data;
  throw new UsageError(`--listen must be an address such as 127.0.0.1:8080, not '${text}'`);
}
