/** All cases of the rules beside all rules, as docs/alerts.md shows. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DOCUMENT } from '../../deploy/prometheus/document.ts';
import { CASE_FILES } from '../../deploy/prometheus/render.ts';
import { start } from '../support/program.ts';

test('all cases pass', { timeout: 3_600_000 }, async () => {
  const document = readFileSync(join(import.meta.dirname, '../..', DOCUMENT), 'utf8');
  const ran = start('sh', ['-c', /`(promtool test rules .*)`/.exec(document)![1]!]);
  expect(await ran.ended, ran.stderr() + ran.stdout()).toMatchObject({ code: 0 });
  expect(ran.stdout().match(/SUCCESS/g)).toHaveLength(CASE_FILES.length);
});
