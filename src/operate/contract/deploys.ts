/** Reports of deploys: by the API, and by the hook with the same body. */
import { z } from 'zod';
import { deployedPart, MAX_PART, MAX_VERSION, MOST_PARTS } from '#foundation/domain/deploy.ts';
import { boundedText, nameField } from './parameters.ts';
import { route } from './route.ts';
import * as s from './schema.ts';

const PRINTABLE = /^\P{Cc}+$/u;
const PARTS = 'must be hosts or URL prefixes without user, query and fragment, such as https://app.example.com/api/';
const TIME = 'must be a time such as 2026-11-25T21:00:00Z';

export const deployReport = z.strictObject({
  of: z
    .array(
      boundedText(MAX_PART).refine((text) => deployedPart(text) !== undefined, PARTS),
      'must be a list of hosts or URL prefixes',
    )
    .min(1, 'must name at least one host or URL prefix')
    .max(MOST_PARTS, `must name at most ${MOST_PARTS}`),
  version: boundedText(MAX_VERSION).regex(PRINTABLE, 'must be printable'),
  url: boundedText(1_000)
    .regex(/^https?:\/\/\S+$/, 'must be an http or https address')
    .exactOptional(),
  at: z.iso.datetime({ offset: true, error: TIME }).max(40, TIME).exactOptional(),
  account: nameField('the name of an account').exactOptional(),
  failed: z.boolean('must be true or false').exactOptional(),
});
export type DeployReport = z.output<typeof deployReport>;

/** A deploy is a roll-back if it failed, or if its version was deployed before another one. A repeated report changes nothing. */
export const reportDeploy = route('POST /api/v1/deploys', {
  id: 'reportDeploy',
  summary: 'Report a deploy of what is behind destinations',
  role: 'operator',
  command: 'opsd deploy VERSION --of PREFIX',
  body: deployReport,
  form: '{"of": ["https://app.example.com/api/"], "version": "v42", "url": "LINK", "at": "TIME", "account": "NAME", "failed": true}; only `of` and `version` are required, and without an account it is about all of them.',
  answer: s.object({
    deploys: s.listOf(
      s.object({
        account: s.text(),
        of: s.listOf(s.text()),
        version: s.text(),
        at: s.time(),
        isRollback: s.flag('True if nothing is repaired because of it.'),
        policies: s.listOf(s.text(), 'Policies that wait for it.'),
      }),
    ),
  }),
  errors: [404],
});
export type ReportedDeploys = s.Infer<typeof reportDeploy.answer>;
