/** Script of the pages. All of them work without it: it shows local times, reloads without a jump, and selects rows. */
const dates = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'medium' });

/** Shows each time in the time zone of the browser, and UTC on hover. Relative times have both on hover. */
function localTimes(root) {
  for (const time of root.querySelectorAll('time[datetime]')) {
    const at = new Date(time.dateTime);
    const isAge = time.hasAttribute('data-age');
    if (Number.isNaN(at.getTime()) || (time.title !== '' && !isAge) || time.hasAttribute('data-utc')) continue;
    const utc = `${time.dateTime.slice(0, 19).replace('T', ' ')} UTC`;
    if (isAge) {
      time.title = `${dates.format(at)}, ${utc}`;
      continue;
    }
    time.title = utc;
    time.textContent = dates.format(at);
  }
  for (const zone of root.querySelectorAll('[data-zone]')) {
    zone.textContent = Intl.DateTimeFormat().resolvedOptions().timeZone;
  }
}

/** Selects all rows of a form at once, and counts them. */
function selections(root) {
  for (const form of root.querySelectorAll('form.act:has([data-all])')) {
    const boxes = [...form.querySelectorAll('input[type=checkbox][name=id]')];
    const all = form.querySelector('[data-all]');
    const count = form.querySelector('[data-count]');
    const update = () => {
      const selected = boxes.filter((box) => box.checked).length;
      if (count !== null) count.textContent = `${selected} selected`;
      if (all !== null) {
        all.checked = selected === boxes.length && selected > 0;
        all.indeterminate = selected > 0 && selected < boxes.length;
      }
    };
    if (all !== null) {
      all.closest('label').hidden = false;
      all.addEventListener('change', () => {
        for (const box of boxes) box.checked = all.checked;
        update();
      });
    }
    form.addEventListener('change', update);
    update();
  }
}

const hours = new Intl.DateTimeFormat('sv-SE', { timeStyle: 'short' });
const days = new Intl.DateTimeFormat('en-GB', { day: '2-digit', month: 'short' });

/** Local time of a step. Undefined from a day on: the days of the service are those of UTC. */
function stepText(at, step) {
  if (step >= 86_400_000) return undefined;
  return step >= 3_600_000 ? `${days.format(at)} ${hours.format(at)}` : hours.format(at);
}

/** Shows the times of charts in the time zone of the browser, and one cursor in all charts of the page. */
function charts(root) {
  for (const time of root.querySelectorAll('.plot text[data-at]')) {
    if (time.dataset.at !== '') time.textContent = hours.format(Number(time.dataset.at));
  }
  const all = [...root.querySelectorAll('figure.chart')].map((figure) => {
    const [from, step] = [Number(figure.dataset.from), Number(figure.dataset.step)];
    const rects = [...figure.querySelectorAll('.steps rect')];
    const rows = [...figure.querySelectorAll('tbody th')];
    for (const [index, { firstChild: title }] of rects.entries()) {
      const text = stepText(from + index * step, step);
      if (text === undefined) break;
      title.textContent = title.textContent.replace(/^.*/, text);
      rows[index].textContent = text;
    }
    return { from, step, rects, output: figure.querySelector('output') };
  });
  const point = (at) => {
    for (const { from, step, rects, output } of all) {
      const shown = at === undefined ? undefined : rects[Math.floor((at - from) / step)];
      for (const rect of rects) rect.classList.toggle('at', rect === shown);
      output.textContent = shown?.firstChild.textContent.replaceAll('\n', '  ') ?? '';
    }
  };
  for (const { from, step, rects } of all) {
    for (const [index, rect] of rects.entries())
      rect.addEventListener('pointerenter', () => point(from + index * step));
    rects[0]?.parentNode.addEventListener('pointerleave', () => point(undefined));
  }
}

/** Adds a button to each command that copies it. Browsers allow this on secure pages only. */
function copyButtons(root) {
  if (navigator.clipboard === undefined) return;
  for (const code of root.querySelectorAll('main code, .foot code')) {
    // The caption of a table must not have a button.
    if (!/^(?:opsd|npm run|npx|export) /.test(code.textContent) || code.closest('caption') !== null) continue;
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'quiet copy';
    button.textContent = 'Copy';
    button.setAttribute('aria-label', `Copy ${code.textContent}`);
    button.addEventListener('click', () => {
      const done = navigator.clipboard.writeText(code.textContent);
      void done.then(() => (button.textContent = 'Copied'));
      // A focused button would keep the page from reloading.
      button.blur();
    });
    code.after(' ', button);
  }
}

function prepare(root) {
  copyButtons(root);
  localTimes(root);
  charts(root);
  selections(root);
}

/** True while a reload would lose something that the operator typed, selected or opened. */
function isInUse() {
  const main = document.querySelector('main');
  return (
    document.hidden ||
    main.contains(document.activeElement?.closest('input, select, textarea, button') ?? null) ||
    main.querySelector('details[open], input[type=checkbox]:checked') !== null
  );
}

async function reload() {
  if (isInUse()) return;
  const response = await fetch(location.href, { headers: { Accept: 'text/html' } });
  // An ended session, or an error page.
  if (!response.ok) return location.reload();
  const next = new DOMParser().parseFromString(await response.text(), 'text/html');
  const main = next.querySelector('main');
  if (main === null || isInUse()) return;
  prepare(main);
  document.querySelector('main').replaceWith(main);
  document.title = next.title;
}

prepare(document);
const seconds = Number(document.body.dataset.refresh);
if (seconds > 0) {
  const failed = () => {
    for (const place of document.querySelectorAll('[data-unreachable]')) place.hidden = false;
  };
  setInterval(() => void reload().catch(failed), seconds * 1_000);
}
