/** Page of the running configuration, without secrets. */
import type { Reply } from '../http/reply.ts';
import { showPage, type PageContext } from './frame/page.ts';
import { policyLink } from '../show/policy-link.ts';
import {
  blockText,
  type Cell,
  facts,
  idText,
  lines,
  moment,
  section,
  state,
  table,
  wide,
} from '#foundation/markup/cell.ts';
import { html } from '#foundation/markup/html.ts';
import type { ConfigurationView } from '../contract/status.ts';

export function configurationPage(context: PageContext): Reply {
  const { deps } = context;
  const view = { at: deps.clock.now(), ...deps.configuration() };
  return showPage(context, {
    title: 'Configuration',
    section: '/configuration',
    main: html`${reloadPart(view)}
    ${facts({ Hash: view.hash !== '' && idText(view.hash), Files: lines(view.files.map(idText)) })}
    ${section('policies', 'Policies', policies(view))}
    ${section(
      'settings',
      'Settings',
      html`<p class="faint">With all defaults, without secrets. Durations are milliseconds.</p>
        ${blockText(view.yaml.map((line) => `${line}\n`))}`,
    )}`,
  });
}

function reloadPart({ reload, at }: ConfigurationView): Cell {
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

function policies({ policies: rows }: ConfigurationView): Cell {
  return table<ConfigurationView['policies'][number]>({
    caption: 'Each policy, with its file and line.',
    rows,
    empty: html`No policy is configured. Policies under <code>policies</code> in the configuration appear here.`,
    columns: { Policy: wide((row) => policyLink(row.name)), Place: wide((row) => idText(row.source)) },
  });
}
