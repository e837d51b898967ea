/** `npm run dashboards`: writes `json/` for provisioning, `import/` for manual import, and a list for kustomize. */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dashboards } from './index.ts';
import { rendered } from './rendered.ts';

const files = rendered(dashboards);
for (const folder of ['json', 'import']) {
  const at = join(import.meta.dirname, folder);
  mkdirSync(at, { recursive: true });
  // Removes files of dashboards that are no longer in the table.
  for (const name of readdirSync(at)) if (!files.has(`${folder}/${name}`)) rmSync(join(at, name));
}
for (const [path, text] of files) writeFileSync(join(import.meta.dirname, path), text);
