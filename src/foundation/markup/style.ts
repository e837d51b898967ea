/** Style sheet of all pages: system fonts, light and dark, from a phone to a wall screen. A constant. */

export const STYLE = `
:root {
  color-scheme: light dark;
  --ground: #f6f7f9; --sheet: #ffffff; --ink: #111827; --faint: #57606f; --line: #e3e6eb; --row: #f3f5f8;
  --link: #155bd0; --ok: #11703a; --attention: #8a4b00; --trouble: #b3261e; --busy: #155bd0; --off: #57606f;
  --ok-wash: #d8f0e2; --attention-wash: #fdefd8; --trouble-wash: #fcdcd6; --busy-wash: #dfe9fb;
  --button: #155bd0; --button-ink: #ffffff; --danger: #b3261e; --field: #8791a0; --grid: #e9ecf0;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #0f1318; --sheet: #171c23; --ink: #e6e9ee; --faint: #9aa5b4; --line: #29313b; --row: #1e252e;
    --link: #84b4ff; --ok: #62c98a; --attention: #efb252; --trouble: #ff9187; --busy: #84b4ff; --off: #9aa5b4;
    --ok-wash: #17372a; --attention-wash: #38290f; --trouble-wash: #46201e; --busy-wash: #1b2c4d;
    --button: #84b4ff; --button-ink: #0c1420; --danger: #ff9187; --field: #6c7889; --grid: #242c36;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0; background: var(--ground); color: var(--ink);
  font: 14px/20px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", Ubuntu, sans-serif;
  font-variant-numeric: tabular-nums; overflow-wrap: break-word;
}
.page { max-width: 1480px; margin: 0 auto; padding: 12px 24px 32px; }
a { color: var(--link); text-underline-offset: 2px; text-decoration-color: color-mix(in srgb, currentColor 35%, transparent); }
a:hover { text-decoration-color: currentColor; }
:is(a, summary, input, select, textarea, button, [tabindex]):focus-visible { outline: 2px solid var(--link); outline-offset: 2px; border-radius: 4px; }
code, .id { font: 0.92em/1.4 ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
p, li, dd { overflow-wrap: anywhere; }
.skip { position: absolute; left: -9999px; }
.skip:focus { left: 16px; top: 8px; background: var(--sheet); padding: 4px 8px; }
[hidden] { display: none !important; }

.top { display: flex; align-items: center; gap: 4px 16px; padding: 6px 24px; background: var(--sheet); border-bottom: 1px solid var(--line); }
.top nav { display: flex; flex: 1 1 auto; min-width: 0; overflow-x: auto; scrollbar-width: none; }
.top nav ul { display: flex; flex: none; margin: 0; padding: 0; list-style: none; }
.top nav ul + ul { margin-left: 8px; padding-left: 8px; border-left: 1px solid var(--line); }
.top { font-size: 13px; } .top nav a { display: block; padding: 6px 7px; border-radius: 6px; color: var(--faint); text-decoration: none; white-space: nowrap; }
.top nav a:hover { background: var(--row); color: var(--ink); }
.top nav a.here { background: var(--row); color: var(--ink); font-weight: 600; }
.top form, .head form { margin: 0; }
.find input { width: 160px; } .who button { padding: 4px 8px; }
.who { display: flex; align-items: center; gap: 8px; margin: 0; white-space: nowrap; }
.foot { padding-top: 0; color: var(--faint); font-size: 13px; display: flex; flex-wrap: wrap; gap: 4px 24px; }
.foot p { margin: 0; }
.head { display: flex; flex-wrap: wrap; align-items: baseline; gap: 4px 16px; min-height: 32px; }
.head h1 { margin: 0; font-size: 20px; line-height: 28px; letter-spacing: -0.01em; overflow-wrap: anywhere; }
.head h1 .state { font-weight: inherit; white-space: normal; } .head h1 a { text-decoration: none; color: inherit; } .head h1 a:hover { text-decoration: underline; }
.title { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 12px; margin-bottom: 4px; } .title h2, .title p { margin: 0; }
.title + table caption { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.folds { display: flex; flex-wrap: wrap; gap: 0 24px; } .folds details[open] { flex-basis: 100%; }
.head p { margin: 0; color: var(--faint); }
.head .tools { display: flex; flex-wrap: wrap; align-items: baseline; gap: 4px 16px; margin-left: auto; color: var(--faint); font-size: 13px; }
.tour { display: flex; flex-wrap: wrap; align-items: center; gap: 4px 16px; margin: 0 0 12px; padding: 8px 12px; background: var(--busy-wash); border-radius: 8px; }
.tour p { margin: 0; } .tour ol { display: flex; flex-wrap: wrap; flex: 1 1 auto; gap: 0 24px; margin: 0; padding-left: 20px; } .tour form { margin: 0; }
.lead { margin: 0; color: var(--faint); }
.menu { position: relative; } .menu summary { cursor: pointer; }
.menu ul { position: absolute; right: 0; z-index: 2; min-width: 10em; margin: 4px 0 0; padding: 4px; list-style: none; background: var(--sheet); border: 1px solid var(--line); border-radius: 8px; box-shadow: 0 4px 16px rgb(0 0 0 / 16%); }
.menu li a { display: block; padding: 4px 8px; border-radius: 4px; color: var(--ink); text-decoration: none; white-space: nowrap; }
.menu li a:hover, .menu [aria-current] { background: var(--row); }

label { display: inline-flex; flex-wrap: wrap; align-items: center; gap: 2px 8px; }
input, select, textarea, button { font: inherit; color: inherit; }
input:not([type=checkbox]), select, textarea {
  min-width: 0; max-width: 100%; padding: 5px 8px; background: var(--sheet); border: 1px solid var(--field); border-radius: 6px;
}
input[type=checkbox] { width: 18px; height: 18px; margin: 2px; accent-color: var(--button); }
button, .button {
  display: inline-block; max-width: 100%; padding: 5px 12px; border: 1px solid var(--button); border-radius: 6px;
  background: var(--button); color: var(--button-ink); font-weight: 600; cursor: pointer; text-decoration: none;
}
button:hover, .button:hover { filter: brightness(1.1); }
button.quiet, .button.quiet { background: none; color: var(--link); border-color: var(--field); }
button.danger { background: none; color: var(--danger); border-color: var(--danger); }
.copy { padding: 0 6px; font-size: 12px; font-weight: 400; }
.act, .filters { display: flex; flex-wrap: wrap; align-items: center; gap: 8px 12px; margin: 0; }
.acts { display: flex; flex-wrap: wrap; align-items: flex-start; gap: 8px 24px; margin: 12px 0; padding: 12px 16px; background: var(--sheet); border: 1px solid var(--line); border-radius: 8px; }
.acts:empty, .facts:not(:has(div)), pre:empty { display: none; }
.acts > .act { width: 100%; } .act label { min-width: 0; }
.act input[name=reason], .act input[name=note] { flex: 1 1 16em; }
.act label:has(textarea) { flex: 1 1 100%; display: grid; } textarea { width: 100%; }
.act label:has(input[name=reason]), .act label:has(input[name=note]) { flex: 1 1 22em; flex-wrap: nowrap; }
fieldset.acts { border-width: 1px; min-width: 0; }
fieldset.acts legend { float: left; width: 100%; padding: 0; font-weight: 600; }
@media (min-width: 821px) { fieldset.acts { position: sticky; bottom: 0; box-shadow: 0 -4px 16px rgb(0 0 0 / 12%); } }
.more { margin-top: 12px; } .acts .more, td .more { margin: 0; }
.more > summary, .long summary { cursor: pointer; color: var(--link); padding: 4px 0; } .long summary { font-size: 13px; }
.stack { display: grid; gap: 12px; max-width: 30em; margin-top: 16px; } .stack label { display: grid; gap: 4px; } .stack button { justify-self: start; }
.filters { margin: 12px 0; }
.filters label { flex: 0 1 10.5em; min-width: 0; display: grid; gap: 2px; color: var(--faint); font-size: 13px; } .filters input, .filters select { width: 100%; color: var(--ink); font-size: 14px; }
.filters button { align-self: end; } .filters a { align-self: end; padding: 6px 0; }
.notice { margin: 12px 0; padding: 8px 16px; border-radius: 8px; border-left: 4px solid var(--busy); background: var(--busy-wash); overflow-wrap: anywhere; }
.notice.ok { border-color: var(--ok); background: var(--ok-wash); }
.notice.attention { border-color: var(--attention); background: var(--attention-wash); }
.notice.trouble { border-color: var(--trouble); background: var(--trouble-wash); }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 240px), 1fr)); gap: 8px 24px; margin: 12px 0; padding: 12px 16px; background: var(--sheet); border: 1px solid var(--line); border-radius: 8px; }
.facts div { min-width: 0; } .facts dt { color: var(--faint); font-size: 13px; } .facts dd { margin: 0; overflow-wrap: anywhere; } .facts .state { white-space: normal; }
pre { max-height: 24em; margin: 8px 0; padding: 12px 16px; overflow: auto; white-space: pre-wrap; overflow-wrap: anywhere; background: var(--sheet); border: 1px solid var(--line); border-radius: 8px; }
pre, textarea { font: 13px/20px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
[aria-labelledby=settings] pre { max-height: none; }
.pages { display: flex; gap: 16px; margin: 12px 0; }

.rows { margin: 12px 0 0; padding: 0; list-style: none; background: var(--sheet); border: 1px solid var(--line); border-radius: 8px; }
.rows li { padding: 8px 16px; border-bottom: 1px solid var(--line); } .rows li:last-child { border-bottom: 0; }
.also summary { cursor: pointer; padding: 8px 16px; } .also .rows { margin: 0; border-width: 1px 0 0; border-radius: 0; }
.todo { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: 8px 16px; }
.todo > div:first-child { flex: 1 1 24em; min-width: 0; } .todo p { margin: 0; }
.todo .more { margin: 0; } .todo .more[open] { flex-basis: 100%; }
.todo strong .state { font-weight: inherit; } .rows .state { white-space: normal; }
section { margin-top: 12px; }
h2 { margin: 0 0 8px; font-size: 14px; } h3 { margin: 0 0 8px; font-size: 14px; }
table { width: 100%; border-collapse: separate; border-spacing: 0; background: var(--sheet); border: 1px solid var(--line); border-radius: 8px; }
table + table, .empty + table, table + .empty, .spark + table { margin-top: 12px; }
caption { overflow-wrap: anywhere; text-align: left; padding: 0 0 4px; color: var(--faint); font-size: 13px; }
th, td { padding: 7px 12px; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
tbody tr:last-child > * { border-bottom: 0; }
thead th { font-size: 13px; font-weight: 400; color: var(--faint); white-space: nowrap; }
tbody th { font-weight: 600; }
tbody tr:hover > * { background: var(--row); }
td.number, th.number { text-align: right; }
tr:target > * { background: var(--busy-wash); }
.plain { width: auto; } .plain :is(td, th) { padding: 2px 12px; border: 0; font-weight: 400; } .plain td { text-align: right; }
.sub { display: block; overflow-wrap: anywhere; color: var(--faint); font-size: 13px; font-weight: 400; }
.sub.inline, .status .sub { display: inline; } :is(td, th) .sub:not(.block) { display: inline-block; max-width: 100%; } td.number .sub { display: block; }
.faint { color: var(--faint); }
.wide { overflow-wrap: anywhere; min-width: 12ch; }
.nowrap { white-space: nowrap; }
.state { font-weight: 600; white-space: nowrap; }
.state::before { display: inline-block; width: 1.25em; }
.state.ok { color: var(--ok); } .state.ok::before { content: "\\25CF"; }
.state.attention { color: var(--attention); } .state.attention::before { content: "\\25B2"; }
.state.trouble { color: var(--trouble); } .state.trouble::before { content: "\\25A0"; }
.state.off { color: var(--off); } .state.off::before { content: "\\25CB"; }
.state.busy { color: var(--busy); } .state.busy::before { content: "\\25D0"; }
.state.watch { color: var(--off); } .state.watch::before { content: "\\25CE"; }
.state.ask { color: var(--busy); } .state.ask::before { content: "\\25C7"; }
progress { display: block; width: 100%; max-width: 120px; height: 8px; accent-color: var(--busy); } progress.attention { accent-color: var(--attention); }
.empty { margin: 0; padding: 12px 16px; background: var(--sheet); border: 1px solid var(--line); border-radius: 8px; color: var(--faint); }
.links { display: flex; flex-wrap: wrap; gap: 4px 16px; margin: 0; padding: 0; list-style: none; }

.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(160px, 1fr)); gap: 1px; margin: 12px 0 0; overflow: hidden; background: var(--line); border: 1px solid var(--line); border-radius: 8px; }
.figures > div { padding: 8px 16px; background: var(--sheet); min-width: 0; }
.figures dt { color: var(--faint); font-size: 13px; } .figures dt a { color: inherit; }
.figures dd { display: grid; grid-template-columns: auto minmax(0, 1fr); align-items: center; column-gap: 12px; margin: 0; font-size: 20px; line-height: 28px; font-weight: 600; }
.figures .sub { grid-column: 1 / -1; line-height: 18px; } .figures .nowrap { white-space: normal; }

.ok { --look: var(--ok); --wash: var(--ok-wash); } .trouble { --look: var(--trouble); --wash: var(--trouble-wash); }
.attention { --look: var(--attention); --wash: var(--attention-wash); } .busy { --look: var(--busy); --wash: var(--busy-wash); }
.chart .faint, .strip .faint, .spark.faint { --look: var(--field); --wash: var(--row); }
.spark { display: block; width: 100%; max-width: 240px; height: 24px; } td .spark { width: 96px; height: 20px; }
.spark path { fill: var(--look); } .spark.line path { fill: none; stroke: var(--look); stroke-width: 1.5; vector-effect: non-scaling-stroke; }
.strip { display: block; max-width: 100%; } .strip rect { fill: var(--look); }
.chart { position: relative; margin: 12px 0 0; padding: 12px 16px 8px; background: var(--sheet); border: 1px solid var(--line); border-radius: 8px; }
.chart figcaption { padding-right: 80px; display: flex; flex-wrap: wrap; gap: 0 12px; font-weight: 600; }
.chart output { margin: 0 0 0 auto; color: var(--faint); font-weight: 400; font-size: 13px; }
.key { font-weight: 400; color: var(--faint); font-size: 13px; }
.key::before { content: ""; display: inline-block; width: 10px; height: 10px; margin-right: 6px; border-radius: 2px; background: var(--look, var(--ink)); }
.key.band::before { background: var(--wash); }
.key.limit::before { height: 0; border-top: 2px dashed var(--ink); background: none; vertical-align: middle; border-radius: 0; }
.plot { display: block; } .plot text { font-size: 11px; fill: var(--faint); } .plot .value { paint-order: stroke; stroke: var(--sheet); stroke-width: 3px; }
.plot path { fill: none; vector-effect: non-scaling-stroke; }
.plot .grid { stroke: var(--grid); } .plot .limit { stroke: var(--ink); stroke-width: 1.5; stroke-dasharray: 5 4; }
.plot .line { stroke: var(--look); stroke-width: 1.5; } .plot .area, .plot .band { fill: var(--wash); }
.plot .bar { fill: var(--look); } .plot .shade { fill: var(--row); }
.plot .wait { fill: var(--field); } .plot .thin { stroke: var(--look); stroke-width: 3; } .plot .axis { stroke: var(--line); } .plot .cut { stroke: var(--faint); stroke-dasharray: 2 3; }
.steps rect { fill: transparent; } .steps rect:hover, .steps rect.at { fill: color-mix(in srgb, var(--ink) 14%, transparent); }
.mark line { stroke: var(--look); stroke-dasharray: 3 3; } .plot .mark text { fill: var(--look); } a.mark:hover text { text-decoration: underline; }
.chart details { position: absolute; top: 12px; right: 16px; font-size: 13px; color: var(--faint); } .chart summary { cursor: pointer; width: max-content; }

.chart details[open] { position: static; max-height: 20em; overflow: auto; }

@media (min-width: 821px) {
  .title + table tbody th.wide { max-width: 310px; font-size: 13px; }
  .title + table :is(tbody th.wide, td.wide > div) { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
  .title + table td.wide > div { max-width: 19em; } .title + table td.wide:last-child > div { max-width: 14em; }
}
@media (max-width: 820px) {
  .page { padding: 8px 12px 24px; }
  .top { flex-wrap: wrap; padding: 4px 12px; } .top nav { flex-basis: 100%; } .find { flex: 1 1 auto; } .find input { width: 100%; }
  .acts .more, .act { width: 100%; }
  .facts { grid-template-columns: repeat(auto-fit, minmax(min(100%, 9.5em), 1fr)); gap: 8px 16px; }
  .figures { grid-template-columns: repeat(2, minmax(0, 1fr)); } .figures > div { padding: 8px 12px; }
  .plot .odd { display: none; }
  table:not(.plain), :is(table:not(.plain)) :is(tbody, tr, th, td) { display: block; }
  table:not(.plain) { border: 0; background: none; }
  caption { display: block; }
  table:not(.plain) thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  table:not(.plain) tbody tr { margin-bottom: 8px; padding: 4px 0; background: var(--sheet); border: 1px solid var(--line); border-radius: 8px; }
  table:not(.plain) :is(tbody th, tbody td) { border: 0; padding: 2px 12px; }
  table:not(.plain) tbody td { display: grid; grid-template-columns: 8.5em minmax(0, 1fr); gap: 0 8px; }
  tbody td::before { content: attr(data-label); color: var(--faint); font-size: 13px; }
  table:not(.plain) tbody :is(td.none, td.minor) { display: none; }
  table:not(.plain) :is(tbody th, tbody td > div) { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 8px; min-width: 0; }
  tbody .sub.block, tbody .long, tbody th > div, tbody td > div > div { flex-basis: 100%; }
  td.number { text-align: left; }
}
@media print { body { background: #ffffff; } .tools, .skip, .top, .acts { display: none; } }
`;
