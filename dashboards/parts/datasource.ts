/**
 * Datasource reference. It is a variable in every target, variable and annotation, so that one file works in every
 * Grafana.
 */
export const DATASOURCE = { type: 'prometheus', uid: '${datasource}' } as const;
