/** Groups of the API's operations. A generated client has one module for each. */

interface Tag {
  readonly name: string;
  readonly description: string;
  /** First segments of the paths after the version. */
  readonly of: readonly string[];
}

const TABLE: readonly Tag[] = [
  {
    name: 'state',
    description: 'State of the daemon and of what it reads.',
    of: [
      'status',
      'sources',
      'conditions',
      'labels',
      'flow-control',
      'canaries',
      'spend',
      'configuration',
      'openapi.json',
    ],
  },
  { name: 'policies', description: 'Policies, their runs, and their actions.', of: ['policies', 'runs', 'actions'] },
  {
    name: 'plans',
    description: 'Plans, and decisions about them.',
    of: ['plans', 'plan', 'cancel', 'apply', 'approve', 'reject'],
  },
  {
    name: 'failures',
    description: 'Incidents, dead letters, and messages.',
    of: ['incidents', 'acknowledge', 'dead-letters', 'messages', 'explain'],
  },
  { name: 'audit', description: 'The audit log.', of: ['audit'] },
  { name: 'control', description: 'Pauses, the store, and reloads.', of: ['pause', 'unpause', 'state', 'reload'] },
  { name: 'operations', description: 'Operations of the service.', of: ['operations'] },
];

export const TAGS = TABLE.map(({ name, description }) => ({ name, description }));

/** @throws {Error} for a path that no tag names */
export function tagOf(path: string): string {
  const segment = path.replace(/^\/(?:api\/v1|-)\//, '').split('/', 1)[0]!;
  const tag = TABLE.find(({ of }) => of.includes(segment));
  if (tag === undefined) throw new Error(`no tag has the path ${path}: see openapi/tags.ts`);
  return tag.name;
}
