// A page that changes: fetch it again, and put the parts that differ in place.
(() => {
  const keyOf = e => e && (e.id || e.dataset.pickSummary || e.dataset.pickMessage || e.getAttribute('href'));
  const focus = (within, key) => { const e = key && Array.from(within.querySelectorAll('a, button, summary, [tabindex]')).find(x => keyOf(x) === key); if (e) e.focus({ preventScroll: true }); };
  const outline = document.querySelector('.outline');
  if (outline?.nextElementSibling) { // the page stands behind it, unless its answer broke off
    const key = outline.contains(document.activeElement) && keyOf(document.activeElement);
    outline.remove();
    focus(document, key);
  }
  const live = document.body.dataset.live;
  if (!live || !window.EventSource) return;
  const note = document.getElementById('live');
  const say = text => { if (note) { note.textContent = text; note.hidden = !text; } };
  // What the server sent of each part: the script has changed it since.
  const sent = new WeakMap(Array.from(document.querySelectorAll('[data-part]'), p => [p, p.innerHTML]));
  let busy = false, again = false, retry = 0;

  function swap(now, next) {
    if (sent.get(now) === next.innerHTML && now.className === next.className) return false;
    const focused = now.contains(document.activeElement) ? document.activeElement : null;
    if (focused && focused.matches('input, select, textarea')) return false;
    const selection = getSelection();
    if (selection && !selection.isCollapsed && now.contains(selection.anchorNode)) return false;
    const opened = new Set(Array.from(now.querySelectorAll('details[open]'), d => d.id).filter(Boolean));
    const long = new Set(Array.from(now.querySelectorAll('.text.open'), t => t.closest('li').id).filter(Boolean));
    const key = keyOf(focused), top = now.scrollTop;
    sent.set(now, next.innerHTML);
    now.replaceChildren(...Array.from(next.childNodes, n => document.importNode(n, true)));
    now.className = next.className;
    for (const d of now.querySelectorAll('details')) if (opened.has(d.id)) d.open = true;
    for (const li of now.querySelectorAll('li[id]')) if (long.has(li.id)) { const t = li.querySelector('.text'); if (t) t.classList.add('open'); }
    now.scrollTop = top;
    focus(now, key);
    return true;
  }

  async function refresh() {
    if (busy) { again = true; return; }
    busy = true;
    try {
      const answer = await fetch(location.pathname + location.search, { credentials: 'same-origin' });
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
      const failed = page.getElementById('failed'); // behind an outline, with another status
      const status = failed ? failed.dataset.status : answer.status, ok = answer.ok && !failed;
      const parts = Array.from(document.querySelectorAll('[data-part]'));
      const fresh = new Map(Array.from(page.querySelectorAll('[data-part]'), p => [p.id, p]));
      if (parts.length !== fresh.size || parts.some(p => !fresh.has(p.id))) { if (ok || answer.status === 401) { location.reload(); return; } say('not up to date: ' + status); setTimeout(refresh, 5000); return; }
      let changed = false;
      for (const p of parts) changed = swap(p, fresh.get(p.id)) || changed;
      if (changed) document.dispatchEvent(new Event('precis:changed'));
      say('');
      if (!ok) { clearTimeout(retry); retry = setTimeout(refresh, 5000); } else readOn(page);
    } catch { say('not up to date'); clearTimeout(retry); retry = setTimeout(refresh, 5000); } finally {
      busy = false;
      if (again) { again = false; refresh(); }
    }
  }

  // A page of which a part is not read yet: each look reads more of it, unless the log does not answer.
  let left = 0;
  function readOn(page) {
    const unread = page.querySelector('[data-unread]')?.dataset.unread;
    if (!unread) return;
    clearTimeout(retry);
    retry = setTimeout(refresh, unread === left ? 500 : 0);
    left = unread;
  }

  const changes = new EventSource(live);
  changes.addEventListener('changed', refresh);
  changes.onerror = () => say('connection lost');
  changes.onopen = () => { if (note && !note.hidden) refresh(); };
  if (document.getElementById('failed')) retry = setTimeout(refresh, 5000); else readOn(document);
})();
