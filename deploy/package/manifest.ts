/** The package.json of the packed package: the project's, without what only its development needs. */

/** All packages are in the bundle, and the sources with their import paths are not in the package. */
const DEVELOPMENT = [
  'private',
  'imports',
  'workspaces',
  'scripts',
  'dependencies',
  'devDependencies',
  'optionalDependencies',
  'allowScripts',
];

export type Manifest = Readonly<Record<string, unknown>>;

export function packedManifest(manifest: Manifest): Manifest {
  return Object.fromEntries(Object.entries(manifest).filter(([key]) => !DEVELOPMENT.includes(key)));
}
