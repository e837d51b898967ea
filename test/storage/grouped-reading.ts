/** A reading of 9,000 dead letters of three kinds, at two times. */
import { readingOfRuns, run, START } from '../observe/incidents/planted.ts';

export const GROUPED = 9_000;
const HOUR = 3_600_000;

export function groupedReading() {
  const rows = Array.from({ length: GROUPED }, (_, n) =>
    run({ dlqId: `d${n}`, createdAt: START + (n % 2) * HOUR + n, responseStatus: 500 + (n % 3) }),
  );
  return readingOfRuns(rows);
}
