import type { ClientBase } from 'pg';
import { expect, test } from 'vitest';
import { all, put } from '#storage/database.ts';
import { drive } from '#storage/postgres/statements.ts';

test('a statement whose outcome nothing reads is sent before the answer to the one before it', async () => {
  const sent: string[] = [];
  const answers: PromiseWithResolvers<{ rows: unknown[]; rowCount: number }>[] = [];
  const client = {
    query: (text: string) => {
      sent.push(text);
      answers.push(Promise.withResolvers());
      return answers.at(-1)!.promise;
    },
  } as unknown as ClientBase;
  const driven = drive(client, function* () {
    yield* put('FIRST', [[]]);
    yield* put('SECOND', [[]]);
    const rows = yield* all('THIRD');
    yield* put('FOURTH', [[]]);
    return rows;
  });
  expect(sent).toEqual(['FIRST', 'SECOND', 'THIRD']);
  for (const [n, { resolve }] of answers.entries()) resolve({ rows: [{ n }], rowCount: 1 });
  await expect.poll(() => sent).toEqual(['FIRST', 'SECOND', 'THIRD', 'FOURTH']);
  answers.at(-1)!.resolve({ rows: [], rowCount: 0 });
  expect(await driven).toEqual([{ n: 2 }]);
});
