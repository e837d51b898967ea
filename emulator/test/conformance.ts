/** The conformance table: a row for each statement of the interface's sections 2 to 8, the test that proves it, and rows of what is known beyond it (B). */
import { BEHAVIOUR_ROWS } from './conformance-behaviour.ts';
import { EVENT_ROWS } from './conformance-events.ts';
import { MANAGEMENT_ROWS } from './conformance-management.ts';
import { OPERATION_ROWS } from './conformance-operations.ts';
import { RECORD_ROWS } from './conformance-records.ts';
import type { Row } from './conformance-row.ts';

export const ROWS: readonly Row[] = [
  ...RECORD_ROWS,
  ...OPERATION_ROWS,
  ...MANAGEMENT_ROWS,
  ...EVENT_ROWS,
  ...BEHAVIOUR_ROWS,
];
