/** Checks that this machine can build and run the image without a container engine. */
import { pathOf, run } from './run.ts';

/** The user of the image. */
export const USER = 65_532;

export class CannotHere extends Error {
  override readonly name = 'CannotHere';
}

/** @returns the missing requirements, one line each with the remedy */
export async function whatIsMissing(needs: { readonly localBase: boolean }): Promise<string[]> {
  if (process.platform !== 'linux')
    return [`this is ${process.platform}: it needs Linux; build the Dockerfile instead`];
  const programs = ['buildah', 'bwrap', 'nsenter', ...(needs.localBase ? ['mmdebstrap'] : [])];
  const absent = programs.filter((program) => pathOf(program) === undefined);
  if (absent.length > 0) {
    const packages = 'apt-get install buildah bubblewrap mmdebstrap util-linux';
    return absent.map((program) => `${program} is not installed: ${packages}`);
  }
  if (process.getuid?.() !== 0) return ['this user is not root: run it as root, in a container or a virtual machine'];
  const missing: string[] = [];
  const probe = async (why: string, command: string, args: readonly string[], user = {}): Promise<void> => {
    const { code, stderr } = await run(command, args, { ...user, cwd: '/', timeoutMs: 20_000 });
    if (code !== 0) missing.push(`${why}: ${command} said "${stderr.trim().split('\n')[0] ?? ''}"`);
  };
  await probe('root cannot change its root directory here', 'chroot', ['/', 'true']);
  await probe('root cannot mount here', 'unshare', ['--mount', 'true']);
  const self = ['--target', String(process.pid), '--mount', '--net', '--pid', '--ipc', 'true'];
  await probe('root cannot enter namespaces here', 'nsenter', self);
  const sandbox = ['--ro-bind', '/', '/', '--unshare-all', '--proc', '/proc', '--dev', '/dev', 'true'];
  await probe('users cannot create namespaces here', 'bwrap', sandbox, { uid: USER, gid: USER });
  return missing;
}
