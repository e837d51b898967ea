/** Script of the pages. All of them work without it: it shows local times, reloads without a jump, and selects rows. */
const dates = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'medium' });

/** Shows each time in the time zone of the browser, and UTC on hover. */
function localTimes(root) {
  for (const time of root.querySelectorAll('time[datetime]')) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime()) || time.title !== '' || time.hasAttribute('data-utc')) continue;
    time.title = `${time.dateTime.slice(0, 19).replace('T', ' ')} UTC`;
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

function prepare(root) {
  localTimes(root);
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
