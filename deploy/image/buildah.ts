/** buildah with a separate store, which needs neither a daemon nor a configuration. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { mustRun } from './run.ts';

/** Runs a command of buildah. Returns its output. */
export type Buildah = (...args: readonly string[]) => Promise<string>;

export function buildahIn(folder: string): Buildah {
  const place = [`--root=${join(folder, 'store')}`, `--runroot=${join(folder, 'run')}`, '--storage-driver=vfs'];
  return (...args) => mustRun('buildah', [...place, ...args]);
}

/** Run configuration in an image. */
export interface ImageConfig {
  readonly User: string;
  readonly Env: readonly string[];
  readonly Entrypoint: readonly string[];
  readonly Cmd: readonly string[];
  readonly WorkingDir: string;
  readonly Labels: Readonly<Record<string, string>>;
  readonly Healthcheck: { readonly Test: readonly string[] };
}

export interface BuiltImage {
  readonly config: ImageConfig;
  /** The image's complete metadata, its history included. */
  readonly inspected: string;
  readonly layers: readonly string[];
  /** A copy of its files. */
  readonly root: string;
}

/** @param image name of the image, whose files are unpacked to `folder` */
export async function unpack(buildah: Buildah, image: string, folder: string): Promise<BuiltImage> {
  const inspected = await buildah('inspect', '--type=image', image);
  const { Docker } = JSON.parse(inspected) as {
    Docker: { config: ImageConfig; rootfs: { diff_ids: readonly string[] } };
  };
  const container = (await buildah('from', '--pull=never', image)).trim();
  const mounted = (await buildah('mount', container)).trim();
  const root = join(folder, 'root');
  mkdirSync(root);
  await mustRun('cp', ['-a', `${mounted}/.`, root]);
  await buildah('rm', container);
  return { config: Docker.config, inspected, layers: Docker.rootfs.diff_ids, root };
}
