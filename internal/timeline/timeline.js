'use strict';
// What belongs together is found by data attributes; nothing here makes markup of text.
(() => {
  let picked = null;
  const all = (selector, within) => Array.from((within || document).querySelectorAll(selector));
  const sources = card => { try { return JSON.parse(card.dataset.sources) || []; } catch { return []; } };

  // show marks a summary with its messages, or a message with its summaries.
  function show() {
    const summaries = new Set(), messages = new Set();
    for (const card of all('.card')) {
      const ids = sources(card);
      if (picked && picked.summary === card.dataset.summary) ids.forEach(id => messages.add(id));
      if (picked && picked.message && ids.includes(picked.message)) summaries.add(card.dataset.summary);
    }
    if (picked && picked.summary) summaries.add(picked.summary);
    if (picked && picked.message) messages.add(picked.message);
    for (const row of all('#story > li')) {
      const on = row.dataset.message ? messages.has(row.dataset.message) : summaries.has(row.dataset.summary);
      row.classList.toggle('picked', !!picked && on);
      row.classList.toggle('dim', !!picked && !on);
    }
    for (const card of all('.card')) {
      const on = summaries.has(card.dataset.summary);
      card.classList.toggle('picked', !!picked && on);
      card.classList.toggle('dim', !!picked && !on);
    }
    for (const b of all('[data-pick-summary], [data-pick-message]')) {
      const on = picked && (b.dataset.pickSummary ? b.dataset.pickSummary === picked.summary : b.dataset.pickMessage === picked.message);
      b.setAttribute('aria-pressed', on ? 'true' : 'false');
    }
  }

  function pick(what) {
    const same = picked && picked.summary === what.summary && picked.message === what.message;
    picked = same ? null : what;
    show();
    if (!picked) return;
    if (picked.summary) {
      const card = document.getElementById('s-' + picked.summary);
      if (card) { card.open = true; card.scrollIntoView({ block: 'nearest' }); }
    }
  }

  function filters() {
    const records = document.getElementById('records');
    if (records) for (const row of all('#story > .record')) row.hidden = !records.checked;
    for (const box of all('[data-status]')) {
      for (const card of all('.card')) if (card.querySelector('.badge.' + box.dataset.status)) card.hidden = !box.checked;
    }
  }

  // clip gives long texts a button; without this script they stand whole.
  function clip() {
    for (const text of all('.row .text')) {
      if (text.dataset.clipped) continue;
      text.dataset.clipped = 'yes';
      const open = text.classList.contains('open');
      if (!open && text.scrollHeight <= text.clientHeight + 2) continue;
      const b = document.createElement('button');
      b.type = 'button';
      b.className = 'pick unclip';
      text.after(b);
      unclip(b, open);
    }
  }

  function unclip(b, open) {
    b.previousElementSibling.classList.toggle('open', open);
    b.textContent = open ? 'Show less' : 'Show all';
    b.setAttribute('aria-expanded', open ? 'true' : 'false');
  }

  document.documentElement.classList.add('js');
  document.addEventListener('DOMContentLoaded', clip);
  if (document.readyState === 'complete') clip();
  document.addEventListener('click', e => {
    const b = e.target.closest('[data-pick-summary], [data-pick-message]');
    if (b) { pick({ summary: b.dataset.pickSummary, message: b.dataset.pickMessage }); return; }
    const more = e.target.closest('.unclip');
    if (more) unclip(more, more.getAttribute('aria-expanded') !== 'true');
  });
  document.addEventListener('keydown', e => { if (e.key === 'Escape' && picked) { picked = null; show(); } });
  document.addEventListener('change', e => { if (e.target.matches('#records, [data-status]')) filters(); });
  // After a page has changed by itself, what was chosen stays chosen.
  document.addEventListener('precis:changed', () => { filters(); show(); clip(); });
  if (location.hash.startsWith('#s-')) pick({ summary: decodeURIComponent(location.hash.slice(3)) });
})();
