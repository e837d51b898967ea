/** Style sheet of all pages: system fonts, light and dark, from a phone to a wall screen. A constant. */

export const STYLE = `
:root {
  color-scheme: light dark;
  --ground: #f6f7f9; --sheet: #ffffff; --ink: #1a1f27; --faint: #596373; --line: #dde1e7; --row: #f1f3f6;
  --link: #0b57c2; --ok: #146c3a; --attention: #8a5200; --trouble: #b3201b; --off: #596373;
  --ok-wash: #e6f4ea; --attention-wash: #fdf1dc; --trouble-wash: #fdeae8; --starting-wash: #e8eef9;
  --button: #0b57c2; --button-ink: #ffffff; --danger: #b3201b; --field: #8791a0;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #11151b; --sheet: #191f27; --ink: #e4e8ee; --faint: #9aa5b4; --line: #2c3540; --row: #202731;
    --link: #7db2ff; --ok: #66cc8a; --attention: #f0b452; --trouble: #ff8f85; --off: #9aa5b4;
    --ok-wash: #15291e; --attention-wash: #2e2413; --trouble-wash: #351a1a; --starting-wash: #18233a;
    --button: #7db2ff; --button-ink: #0c1420; --danger: #ff8f85; --field: #6c7889;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0; background: var(--ground); color: var(--ink);
  font: 15px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", Ubuntu, sans-serif;
  font-variant-numeric: tabular-nums;
}
.page { max-width: 1480px; margin: 0 auto; padding: 20px 24px 40px; }
a { color: var(--link); text-underline-offset: 2px; }
a:focus-visible, [tabindex]:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; border-radius: 2px; }
code, .id { font: 0.92em/1.4 ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.skip { position: absolute; left: -9999px; }
.skip:focus { left: 16px; top: 8px; background: var(--sheet); padding: 4px 8px; }

.top { display: flex; flex-wrap: wrap; align-items: center; gap: 4px 20px; padding: 6px 24px; background: var(--sheet); border-bottom: 1px solid var(--line); }
.top nav { flex: 1 1 auto; }
.top nav ul { display: flex; flex-wrap: wrap; gap: 0 2px; margin: 0; padding: 0; list-style: none; }
.top nav a { display: block; padding: 6px 9px; border-radius: 6px; color: var(--ink); text-decoration: none; }
.top nav a:hover { background: var(--row); text-decoration: underline; }
.top nav a.here { background: var(--row); font-weight: 600; box-shadow: inset 0 -2px var(--link); }
.who { display: flex; align-items: center; gap: 10px; margin: 0; max-width: 100%; overflow-wrap: anywhere; }
.who form { margin: 0; }
.foot { padding-top: 0; color: var(--faint); font-size: 0.92rem; display: flex; flex-wrap: wrap; gap: 6px 24px; }
.foot p { margin: 0; }
.head { display: flex; flex-wrap: wrap; align-items: baseline; gap: 4px 20px; }
.head h1 { margin: 0; font-size: 1.35rem; letter-spacing: -0.01em; overflow-wrap: anywhere; }
.head p { margin: 0; color: var(--faint); }
.head .refresh { margin-left: auto; }

label { display: inline-flex; flex-wrap: wrap; align-items: center; gap: 2px 8px; }
label[hidden], [hidden] { display: none; }
input, select, textarea, button { font: inherit; color: inherit; }
input:not([type=checkbox]), select, textarea {
  min-width: 0; max-width: 100%; padding: 5px 8px; background: var(--sheet); border: 1px solid var(--field); border-radius: 6px;
}
input[type=checkbox] { width: 18px; height: 18px; margin: 2px; accent-color: var(--button); }
button, .button {
  padding: 6px 14px; border: 1px solid var(--button); border-radius: 6px; background: var(--button); color: var(--button-ink);
  font-weight: 600; cursor: pointer; text-decoration: none; display: inline-block;
}
button:hover, .button:hover { filter: brightness(1.1); }
button.quiet, .button.quiet { background: none; color: var(--link); border-color: var(--field); }
button.danger { background: none; color: var(--danger); border-color: var(--danger); }
input:focus-visible, select:focus-visible, textarea:focus-visible, button:focus-visible, summary:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
.act, .filters { display: flex; flex-wrap: wrap; align-items: center; gap: 8px 14px; margin: 0; }
.acts { display: flex; flex-wrap: wrap; align-items: flex-start; gap: 10px 28px; margin: 14px 0; padding: 12px 16px; background: var(--sheet); border: 1px solid var(--line); border-radius: 8px; }
.acts:empty, .facts:not(:has(div)), pre:empty { display: none; }
.act input[name=reason], .act input[name=note] { flex: 1 1 16em; }
.act label { min-width: 0; } button { max-width: 100%; }
.act label:has(input[name=reason]), .act label:has(input[name=note]) { flex: 1 1 22em; flex-wrap: nowrap; }
.more { margin-top: 18px; } .acts .more, td .more { margin: 0; } .more summary { cursor: pointer; color: var(--link); padding: 4px 0; }
.stack { display: grid; gap: 12px; max-width: 30em; margin-top: 16px; } .stack label { display: grid; gap: 4px; } .stack button { justify-self: start; }
.filters { margin: 14px 0; padding: 12px 16px; background: var(--sheet); border: 1px solid var(--line); border-radius: 8px; }
.filters label { flex: 0 1 10.5em; min-width: 0; display: grid; gap: 2px; color: var(--faint); font-size: 0.88rem; } .filters input, .filters select { width: 100%; color: var(--ink); font-size: 0.95rem; }
.filters button { align-self: end; } .filters a { align-self: end; padding: 6px 0; }
.notice { margin: 14px 0; padding: 12px 16px; border-radius: 8px; border-left: 5px solid var(--link); background: var(--starting-wash); overflow-wrap: anywhere; }
.notice.ok { border-color: var(--ok); background: var(--ok-wash); }
.notice.attention { border-color: var(--attention); background: var(--attention-wash); }
.notice.trouble { border-color: var(--trouble); background: var(--trouble-wash); }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 260px), 1fr)); gap: 10px 24px; margin: 14px 0; padding: 14px 18px; background: var(--sheet); border: 1px solid var(--line); border-radius: 8px; }
.facts div { min-width: 0; } .facts dt { color: var(--faint); font-size: 0.88rem; } .facts dd { margin: 0; overflow-wrap: anywhere; } .facts .state { white-space: normal; }
[aria-labelledby=settings] pre { max-height: none; }
pre { max-height: 24em; margin: 8px 0; padding: 12px 16px; overflow: auto; white-space: pre-wrap; overflow-wrap: anywhere; background: var(--sheet); border: 1px solid var(--line); border-radius: 8px; font: 0.9em/1.45 ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.acts > .act { width: 100%; }
fieldset.acts { border-width: 1px; min-width: 0; }
@media (min-width: 821px) { fieldset.acts { position: sticky; bottom: 0; box-shadow: 0 -4px 16px rgb(0 0 0 / 12%); } }
fieldset.acts legend { float: left; width: 100%; padding: 0; font-weight: 600; } .long summary { cursor: pointer; color: var(--link); font-size: 0.88rem; }
.spark { display: block; width: 100%; max-width: 320px; height: 36px; } .spark path { fill: var(--link); }
.pages { display: flex; gap: 20px; margin: 12px 0; }
p { overflow-wrap: anywhere; }

.verdict { margin: 14px 0 0; padding: 14px 18px; border-radius: 8px; border-left: 5px solid; background: var(--sheet); }
.verdict p { margin: 0; font-size: 1.12rem; }
.verdict strong { margin-right: 6px; }
.verdict ul { margin: 8px 0 0; padding-left: 22px; }
.verdict p a { color: inherit; text-decoration-color: color-mix(in srgb, currentColor 40%, transparent); }
.verdict li { overflow-wrap: anywhere; }
.verdict details { margin-top: 8px; } .verdict summary { cursor: pointer; }
.verdict.ok { border-color: var(--ok); background: var(--ok-wash); }
.verdict.attention { border-color: var(--attention); background: var(--attention-wash); }
.verdict.trouble { border-color: var(--trouble); background: var(--trouble-wash); }
.verdict.starting, .verdict.info { border-color: var(--link); background: var(--starting-wash); }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 8px; margin: 12px 0; }
.figures div { padding: 8px 12px; background: var(--sheet); border-radius: 6px; }
.figures dt { color: var(--faint); font-size: 0.88rem; }
.figures dd { margin: 0; font-size: 1.5rem; line-height: 1.25; font-weight: 600; overflow-wrap: anywhere; }
.verdict p.reaction { font-size: 1rem; overflow-wrap: anywhere; }

section { margin-top: 26px; }
h2 { margin: 0 0 8px; font-size: 1.05rem; } h3 { margin: 0 0 8px; font-size: 0.95rem; }
table { width: 100%; border-collapse: separate; border-spacing: 0; background: var(--sheet); border: 1px solid var(--line); border-radius: 8px; }
table + table, .empty + table, table + .empty, .spark + table { margin-top: 16px; }
caption { overflow-wrap: anywhere; text-align: left; padding: 0 0 6px; color: var(--faint); font-size: 0.92rem; }
th, td { padding: 7px 12px; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
tbody tr:last-child > * { border-bottom: 0; }
thead th { font-size: 0.82rem; font-weight: 600; color: var(--faint); white-space: nowrap; }
tbody th { font-weight: 600; }
td.number, th.number { text-align: right; }
tr:target > * { background: var(--row); }
.sub { display: block; overflow-wrap: anywhere; color: var(--faint); font-size: 0.88rem; font-weight: 400; }

.sub.inline { display: inline; }
.when { white-space: nowrap; }
.faint { color: var(--faint); }
.wide { overflow-wrap: anywhere; min-width: 12ch; }
.nowrap { white-space: nowrap; }
.state { font-weight: 600; white-space: nowrap; }
.state::before { display: inline-block; width: 1.25em; }
.state.ok { color: var(--ok); } .state.ok::before { content: "\\25CF"; }
.state.attention { color: var(--attention); } .state.attention::before { content: "\\25B2"; }
.state.trouble { color: var(--trouble); } .state.trouble::before { content: "\\25A0"; }
.state.off { color: var(--off); } .state.off::before { content: "\\25CB"; }
.verdict .state { color: inherit; }
.verdict.ok .state { color: var(--ok); } .verdict.attention .state { color: var(--attention); }
.verdict.trouble .state { color: var(--trouble); }
.verdict.starting .state, .verdict.info .state { color: var(--link); }
.empty { margin: 0; padding: 14px 18px; background: var(--sheet); border: 1px dashed var(--line); border-radius: 8px; color: var(--faint); }
.links { display: flex; flex-wrap: wrap; gap: 6px 20px; margin: 0; padding: 0; list-style: none; }

@media (max-width: 820px) {
  .page { padding: 14px 12px 32px; }
  .head .refresh { margin-left: 0; }
  .top { padding: 6px 12px; } .top nav a { padding: 7px 8px; } .who { width: 100%; justify-content: space-between; }
  .acts .more, .act { width: 100%; }
  .facts { grid-template-columns: repeat(auto-fit, minmax(min(100%, 9.5em), 1fr)); gap: 10px 16px; }
  table, tbody, tr, th, td { display: block; }
  table { border: 0; background: none; }
  caption { display: block; }
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  tbody tr { margin-bottom: 10px; padding: 6px 0; background: var(--sheet); border: 1px solid var(--line); border-radius: 8px; }
  tbody th, tbody td { border: 0; padding: 3px 14px; }
  tbody td { display: grid; grid-template-columns: 8.5em minmax(0, 1fr); gap: 0 10px; }
  tbody td::before { content: attr(data-label); color: var(--faint); font-size: 0.88rem; }
  tbody td.none, tbody td.minor { display: none; }
  tbody th, tbody td > div { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 8px; min-width: 0; }
  tbody .sub.block, tbody .long, tbody th > div, tbody td > div > div { flex-basis: 100%; }
  td.number { text-align: left; }
}
@media print { body { background: #ffffff; } .refresh, .skip, .top, .acts { display: none; } }
`;
