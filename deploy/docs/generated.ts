/** Generated parts of the documentation, by the names of their markers. Each follows from the place that declares it. */
import { catalogMarkdown } from '#observe/catalog/text.ts';
import { alertLists, burnTable, recordedSeries } from '../prometheus/document.ts';

export const GENERATED: Readonly<Record<string, () => string | Promise<string>>> = {
  metrics: catalogMarkdown,
  alerts: alertLists,
  'burn-rates': burnTable,
  recorded: recordedSeries,
};
