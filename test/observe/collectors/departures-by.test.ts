import { expect, test } from 'vitest';
import { departuresBy } from '#observe/collectors/own-departures.ts';

test('a resume and a delete remove their entry from the workflow DLQ, a retrigger does not', () => {
  const claims = [
    ['a', 'workflow-dlq.resume'],
    ['b', 'workflow-dlq.delete'],
    ['c', 'retrigger'],
  ] as const;
  expect([...departuresBy(new Map(claims))]).toEqual([
    ['a', 'resumed'],
    ['b', 'deleted'],
  ]);
});
