/** The datasource is a variable in every target, variable and annotation, so that one file serves every Grafana. */
export const DATASOURCE = { type: 'prometheus', uid: '${datasource}' } as const;
