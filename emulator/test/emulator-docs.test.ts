/** Compares the lists of docs/emulator-reference.md with the control requests and faults. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { controlRoutes } from '#emulator/control/control-routes.ts';
import { control, controlled } from './controlled.ts';

const text = readFileSync(join(import.meta.dirname, '../../docs/emulator-reference.md'), 'utf8');

function rows(heading: string): readonly string[] {
  const section = text.split(`\n## ${heading}\n`)[1]!.split('\n## ')[0]!;
  return section.split('\n').filter((line) => line.startsWith('- `'));
}

test('its limitations come first', () => {
  expect(/^## (.+)$/m.exec(text)![1]).toBe('What it does not do');
});

/** Returns `GET /-/emulator/faults/ID` for each method of each route, in the form of the table. */
function controlPaths(): readonly string[] {
  const names: Readonly<Record<string, string>> = { dlqId: 'DLQID', key: 'KEY', host: 'HOST' };
  return controlRoutes({} as never, {} as never).map(
    ({ method, pattern }) => `${method} ${pattern.replaceAll(/:(\w+)/g, (_, name: string) => names[name] ?? 'ID')}`,
  );
}

test('every request of the control API has its row, and no other', () => {
  const named = rows('The control path')
    .map((row) => row.slice(2).split(/ \(|: /)[0]!)
    .filter((cell) => /\//.test(cell))
    .flatMap((cell) => {
      // `GET`, `POST /path`, `DELETE …/path/ID`: a method without a path has the next one's.
      const whole = /(\/-\/emulator\/[a-z-]+)/.exec(cell)![1]!;
      const parts = [...cell.matchAll(/`([A-Z]+)(?: ([^`]+))?`/g)].map((match) => [match[1]!, match[2]] as const);
      return parts.map(([method, path], at) => {
        const own = path ?? parts.slice(at).find((part) => part[1] !== undefined)![1]!;
        return `${method} ${own.replace(/^…\/[a-z-]+/, whole)}`;
      });
    });
  expect(named.toSorted()).toEqual(controlPaths().toSorted());
});

test.each([
  ['fault', 'faults', 'A fault rule selects', ' FAULT = '],
  ['fault of deliveries', 'delivery-faults', 'A rule of a delivery fault', ' DELIVERY_FAULT = '],
])('every %s has a row that the control API accepts', async (_what, path, beginning, schema) => {
  const service = await controlled();
  const table = text.split(`\n${beginning}`)[1]!.split('\n\n')[1]!;
  const faults = table.split('\n').flatMap((row) => /^- `(\{"kind".+?\})`/.exec(row)?.[1] ?? []);
  for (const fault of faults) {
    expect((await control(service, `POST /${path}`, `{"times":1,"fault":${fault}}`)).status, fault).toBe(200);
  }
  const source = readFileSync(join(import.meta.dirname, '../src/control/fault-rule.ts'), 'utf8');
  const union = source.split(schema)[1]!.split('\n]);')[0]!;
  const kinds = [...union.matchAll(/kind: z\.literal\('([\w-]+)'\)/g)].map((match) => match[1]);
  const told = faults.map((fault) => (JSON.parse(fault) as { readonly kind: string }).kind);
  expect(new Set(told)).toEqual(new Set(kinds));
});
