// Looks at pages in Chromium: accessibility by axe, violations of the Content-Security-Policy, scripts that ran and should not have, and pictures.
//
//   node look.mjs < job.json
//
// A page that is held begins with an outline, or is one of which nothing is read yet: with a request to "held" its log stops to answer, with the next one it answers again.
//
// job: {"chromium", "pages": [{"name", "url", "status", "wait", "click", "has", "full", "held"}], "widths", "schemes", "token", "axe", "shots"}. It prints {"findings": [text], "looks": n}.
import { readFileSync, mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const job = JSON.parse(readFileSync(0, 'utf8'));
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const findings = [];
let looks = 0;
if (job.shots) mkdirSync(job.shots, { recursive: true });

const browser = await chromium.launch({
  executablePath: job.chromium,
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage'],
});
try {
  for (const scheme of job.schemes || ['light', 'dark']) {
    for (const width of job.widths || [1280, 360]) {
      const context = await browser.newContext({ colorScheme: scheme, viewport: { width, height: width < 600 ? 740 : 800 }, reducedMotion: 'reduce' });
      // What the page may not do is noted before any of it runs.
      await context.addInitScript(() => {
        window.__violations = [];
        document.addEventListener('securitypolicyviolation', e => window.__violations.push(e.violatedDirective + ' ' + e.blockedURI + ' ' + (e.sample || '')));
      });
      const page = await context.newPage();
      let where = '';
      const found = text => findings.push(`${where} (${scheme}, ${width} px): ${text}`);
      page.on('dialog', d => { found('a dialog opened: ' + d.message()); d.dismiss(); });
      page.on('pageerror', e => found('a script failed: ' + e.message));
      page.on('console', m => { if (m.type() === 'error' && !/status of (4|5)\d\d/.test(m.text())) found('console: ' + m.text()); });
      page.on('request', r => { if (new URL(r.url()).host !== new URL(job.pages[0].url).host) found('a request to ' + r.url()); });
      // What axe objects to. The page's policy is for what it loads; the checker comes from the driver.
      async function objections(page) {
        if (job.axe === false) return;
        await page.evaluate(axe);
        const result = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
        for (const v of result.violations) for (const n of v.nodes) found(`axe ${v.id}: ${v.help}: ${n.html.slice(0, 200)} ${n.any.map(a => a.message).join('; ').slice(0, 200)}`);
      }
      if (job.token) {
        where = 'login';
        await page.goto(new URL('/ui/', job.pages[0].url).href);
        await page.fill('#token', job.token);
        await page.click('main button');
        await page.waitForSelector('nav[aria-label=Pages]');
      }
      for (const p of job.pages) {
        where = p.name;
        looks++;
        if (p.held) await fetch(p.held);
        const answer = await page.goto(p.url, { waitUntil: p.held ? 'commit' : 'load' });
        if (answer.status() !== (p.status || 200)) found('status ' + answer.status());
        if (p.held) {
          await page.waitForSelector('.outline .story, [data-unread]');
          const begun = await page.content();
          await page.focus('.tabs a[href$="/prompt"]');
          await fetch(p.held);
          await page.waitForLoadState('load');
          if (await page.$('.outline')) found('the outline stays');
          if (await page.evaluate(() => document.activeElement !== document.querySelector('.tabs a[href$="/prompt"]'))) found('the outline took the focus with it');
          // A reader of the log gives up after seconds, which a busy browser needs to look: it looks at what was there, on a page that stays so.
          const still = await context.newPage();
          await still.route(p.url, r => r.fulfill({ contentType: 'text/html; charset=utf-8', body: begun.replace(/<script .*?<\/script>/gs, '') }));
          await still.goto(p.url);
          await still.waitForSelector('.outline .story, [data-unread]');
          await objections(still);
          if (job.shots) await still.screenshot({ path: `${job.shots}/${p.name} outline-${scheme}-${width}.png`, fullPage: true });
          await still.close();
        }
        await page.waitForFunction(() => !document.querySelector('[data-unread]'), { timeout: 20000 }); // it reads on
        if (p.wait) await page.waitForSelector(p.wait, { timeout: 20000 });
        if (p.click) { await page.click(p.click); await page.waitForLoadState('load'); }
        if (p.has) for (const s of [].concat(p.has)) if (!await page.$(s)) found('has no ' + s);
        const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        if (over > 0) found(`is ${over} px wider than the window`);
        for (const table of await page.evaluate(() => Array.from(document.querySelectorAll('.wide'), e => e.checkVisibility() && e.scrollWidth > e.clientWidth ? e.getAttribute('aria-label') || e.getAttribute('aria-labelledby') : null))) if (table !== null) found(`the table "${table}" scrolls sideways`);
        const ran = await page.evaluate(() => ({
          planted: window.planted || null, violations: window.__violations,
          foreign: Array.from(document.querySelectorAll('script, iframe, object, embed, img, [onclick], [onerror], [onload], [style]'), e => e.outerHTML.slice(0, 120)).filter(t => !t.startsWith('<script src="/ui/script.js"')),
        }));
        // A name may say that it is written from the right to the left; what follows it may not.
        for (const name of await page.evaluate(() => Array.from(document.querySelectorAll('.id, code')).filter(e => {
          const text = document.createTreeWalker(e.parentElement, NodeFilter.SHOW_TEXT);
          let next = null;
          for (let n; !next && (n = text.nextNode());) if (!e.contains(n) && e.compareDocumentPosition(n) & Node.DOCUMENT_POSITION_FOLLOWING && n.data.trim() && n.parentElement.checkVisibility()) next = n;
          if (!next || !e.checkVisibility()) return false;
          const at = new Range();
          const first = next.data.search(/\S/);
          at.setStart(next, first), at.setEnd(next, first + 1);
          const a = Array.from(e.getClientRects()).at(-1), b = at.getBoundingClientRect();
          return a && b.width && b.left < a.left && b.top < a.bottom - 4 && b.bottom > a.top + 4;
        }).map(e => e.textContent.slice(0, 80)))) found('what follows a name stands before it: ' + name);
        if (ran.planted) found('a planted script ran: ' + ran.planted);
        for (const v of ran.violations) found('policy violated: ' + v);
        for (const f of ran.foreign) found('an element that no page has: ' + f);
        await objections(page);
        if (job.shots) await page.screenshot({ path: `${job.shots}/${p.name}-${scheme}-${width}.png`, fullPage: p.full !== false });
      }
      await context.close();
    }
  }
} finally {
  await browser.close();
}
console.log(JSON.stringify({ findings, looks }));
