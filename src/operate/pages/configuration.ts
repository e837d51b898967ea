/** Page of the running configuration, without secrets. */
import type { Reply } from '../http/reply.ts';
import { showPage, type PageContext } from './frame/page.ts';
import { html, type Html } from './html.ts';
import { policyLink } from './page-policies.ts';
import { blockText, facts, idText, moment, section, state } from './page-parts.ts';
import { table } from './table.ts';
import type { ConfigurationView } from '../contract/status.ts';

export function configurationPage(context: PageContext): Reply {
  const { deps } = context;
  const view = { at: deps.clock.now(), ...deps.configuration() };
  return showPage(context, {
    title: 'Configuration',
    section: '/configuration',
    main: html`${reloadPart(view)}
    ${facts([
      { name: 'Hash', value: view.hash !== '' && idText(view.hash) },
      { name: 'Files', value: view.files.length > 0 && view.files.map((file) => html`<div>${idText(file)}</div>`) },
    ])}
    ${section('policies', 'Policies', policies(view))}
    ${section(
      'settings',
      'Settings',
      html`<p class="faint">With all defaults, without secrets. Durations are milliseconds.</p>
        ${blockText(view.yaml.map((line) => `${line}\n`))}`,
    )}`,
  });
}

function reloadPart({ reload, at }: ConfigurationView): Html {
  if (reload === undefined) return html`<p class="notice info">This daemon cannot reload its configuration.</p>`;
  if (reload.ok) {
    return html`<p class="notice ok">${state('ok', 'The last load succeeded')} ${moment(reload.goodAt, at)}</p>`;
  }
  return html`<div class="notice trouble" role="alert">
    <p>
      ${state('trouble', 'The changed configuration is invalid.')} The daemon runs with the previous one.
      ${reload.auditOnly && 'All policies are in audit.'}
    </p>
    ${blockText(reload.problems.join('\n'))}
  </div>`;
}

function policies({ policies: rows }: ConfigurationView): Html {
  return table<ConfigurationView['policies'][number]>({
    caption: 'Each policy, with its file and line.',
    rows,
    empty: html`No policy is configured. Policies under <code>policies</code> in the configuration appear here.`,
    columns: [
      { title: 'Policy', wide: true, cell: (row) => policyLink(row.name) },
      { title: 'Place', wide: true, cell: (row) => idText(row.source) },
    ],
  });
}
