// What is checked of a page, whichever story opens it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { HtmlValidate, StaticConfigLoader } from 'html-validate';

export const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const validator = new HtmlValidate(new StaticConfigLoader({
	extends: ['html-validate:standard'],
	// Form of the source, which says nothing to a reader.
	rules: { 'long-title': 'off', 'no-trailing-whitespace': 'off' },
}));

// A page that reports what a reader's console would say.
export async function fresh(context, url) {
	const page = await context.newPage();
	const faults = [];
	page.on('console', (message) => {
		// A page that answers 404 or 410 is itself a failed load to the console.
		const itself = /Failed to load resource/.test(message.text()) && message.location().url === page.url();
		if (['error', 'warning'].includes(message.type()) && !itself) faults.push(`console ${message.type()}: ${message.text()}`);
	});
	page.on('pageerror', (error) => faults.push(`page error: ${error.message}`));
	page.on('request', (request) => {
		const to = new URL(request.url());
		if (to.protocol !== 'data:' && to.origin !== url) faults.push(`request to ${to.origin}`);
	});
	await page.addInitScript(() => {
		globalThis.violations = [];
		addEventListener('securitypolicyviolation', (event) => globalThis.violations.push(`${event.violatedDirective}: ${event.blockedURI}`));
	});
	return { page, faults };
}

// Nothing on a page moves while it comes in, however late its faces are and what
// its script does: both are held back until it has been painted. Tells how many
// faces there were. The sum of layout shifts is 0 where nothing moves, and 0.1 where it begins
// to disturb.
export async function still(context, address, name) {
	const page = await context.newPage();
	await page.addInitScript(() => {
		globalThis.moved = [];
		new PerformanceObserver((list) => {
			for (const { value, sources } of list.getEntries()) globalThis.moved.push({ value, what: sources.map(({ node }) => (node?.outerHTML ?? node?.data ?? '').slice(0, 80)) });
		}).observe({ type: 'layout-shift', buffered: true });
		const soon = document.addEventListener.bind(document);
		globalThis.scripted = new Promise((done) => {
			document.addEventListener = (type, act, how) => {
				if (type !== 'DOMContentLoaded') return soon(type, act, how);
				new PerformanceObserver((_, observer) => {
					observer.disconnect();
					requestAnimationFrame(() => requestAnimationFrame(() => done(act())));
				}).observe({ type: 'paint', buffered: true });
			};
		});
	});
	let held = [], faces = 0;
	await page.route(/\.woff2$/, (route) => { faces++; return held ? held.push(route) : route.continue(); });
	await page.goto(address, { waitUntil: 'domcontentloaded' });
	await page.evaluate(() => new Promise((painted) => new PerformanceObserver(painted).observe({ type: 'paint', buffered: true })));
	const late = held;
	held = null;
	await Promise.all(late.map((route) => route.continue()));
	await page.waitForLoadState();
	await page.evaluate(async () => {
		await document.fonts.ready;
		if (document.querySelector('script[src]')) await globalThis.scripted;
		// A verdict is told when its check has ended.
		const verdict = document.querySelector('.proof[data-bad] .explain');
		for (let i = 0; verdict && i < 300 && verdict.innerText === verdict.firstElementChild.dataset.was; i++) await new Promise(requestAnimationFrame);
		for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame);
	});
	const moved = await page.evaluate(() => globalThis.moved);
	const sum = moved.reduce((total, { value }) => total + value, 0);
	assert.ok(sum < 0.02, `${name} moves by ${sum.toFixed(3)}: ${moved.flatMap(({ what }) => what).join(' | ')}`);
	await page.close();
	return faces;
}

export async function valid(name, html) {
	const report = await validator.validateString(html, name);
	const said = report.results.flatMap((result) => result.messages.map((m) => `${m.ruleId}: ${m.message} (${m.selector ?? m.line})`));
	assert.deepEqual(said, [], `${name} is no valid HTML`);
}

const runOnly = { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] };

export async function accessible(page, name) {
	const found = await page.evaluate(async (runOnly) => {
		// Entries far below are laid out as they come near. Here all are, so that axe
		// sees them, and nothing moves under it when it scrolls.
		document.styleSheets[0].insertRule('* { content-visibility: visible !important }');
		const { violations } = await globalThis.axe.run(document, { runOnly, rules: { 'target-size': { enabled: true } }, resultTypes: ['violations'] });
		return violations.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.target.join(' ') + ' ' + (n.any[0] ?? n.all[0] ?? n.none[0])?.message).join(' | ')}`);
	}, runOnly);
	assert.deepEqual(found, [], name);
}

export async function narrow(page, name) {
	await page.setViewportSize({ width: 320, height: 640 });
	const found = await page.evaluate(() => {
		const root = document.documentElement;
		const over = [...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > root.clientWidth + 1 && !e.closest('.vh, .skip'));
		return { by: root.scrollWidth - root.clientWidth, over: over.slice(0, 3).map((e) => e.outerHTML.slice(0, 120)) };
	});
	assert.equal(found.by, 0, `${name} scrolls sideways at 320 px: ${found.over.join('\n')}`);
}

// What is pressed is at least 24 pixels each way, unless it is a word of a
// sentence (WCAG 2.5.8). A field with a label around it is as large as that.
export async function pressable(page, name) {
	const small = await page.evaluate(() => [...document.querySelectorAll('a[href], button, input, select, textarea, summary')]
		.filter((e) => e.type !== 'hidden' && e.checkVisibility({ visibilityProperty: true }) && !e.closest('.vh, .skip'))
		.filter((e) => getComputedStyle(e).display !== 'inline' || ![...e.parentElement.childNodes].some((n) => n.nodeType === 3 && n.data.trim()))
		.map((e) => [e, (e.closest('label') ?? e).getBoundingClientRect()])
		.filter(([, box]) => box.width < 23.5 || box.height < 23.5)
		.map(([e, box]) => `${Math.round(box.width)} x ${Math.round(box.height)}: ${e.outerHTML.slice(0, 100)}`).slice(0, 4));
	assert.deepEqual(small, [], `${name}: targets`);
}

// A reader may set lines, letters, words and paragraphs further apart (WCAG
// 1.4.12): nothing is cut off then, and nothing scrolls sideways.
export async function spaced(page, name) {
	const cut = await page.evaluate(() => {
		const sheet = new CSSStyleSheet();
		sheet.replaceSync('* { line-height: 1.5 !important; letter-spacing: .12em !important; word-spacing: .16em !important } p { margin-block-end: 2em !important }');
		document.adoptedStyleSheets = [sheet];
		const root = document.documentElement;
		const found = [...document.querySelectorAll('body *')].filter((e) => {
			const style = getComputedStyle(e);
			if (e.closest('.vh, svg') || style.display === 'inline' || /^(input|textarea)$/i.test(e.tagName)) return false;
			const clips = style.overflowX !== 'visible' || style.overflowY !== 'visible' || /button|^a$/i.test(e.tagName);
			return clips && e.checkVisibility() && (e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1);
		}).map((e) => e.outerHTML.slice(0, 100)).slice(0, 4);
		if (root.scrollWidth > root.clientWidth) found.push(`the page is ${root.scrollWidth} wide`);
		document.adoptedStyleSheets = [];
		return found;
	});
	assert.deepEqual(cut, [], `${name}: text set apart`);
}

// Tab must go through everything that can be focused, in the order of the
// text, and each stop must be seen.
export async function keyboard(page, name) {
	const { stops, more } = await page.evaluate(() => {
		getSelection().removeAllRanges();
		// A field that has the focus from the start would be where Tab sets out.
		document.documentElement.tabIndex = -1;
		document.documentElement.focus();
		document.documentElement.removeAttribute('tabindex');
		const all = [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex]')]
			.filter((e) => e.tabIndex >= 0 && !e.disabled && e.type !== 'hidden' && e.checkVisibility({ visibilityProperty: true }));
		// One radio button of a group is a stop.
		const list = all.filter((e) => e.type !== 'radio' || e.checked || !all.some((o) => o.name === e.name && o.checked) && all.find((o) => o.name === e.name) === e);
		list.forEach((e, i) => { e.stop = i; });
		globalThis.walked = [];
		addEventListener('focusin', ({ target: e }) => {
			const box = e.getBoundingClientRect();
			globalThis.walked.push(box.width > 0 && box.height > 0 && getComputedStyle(e).outlineStyle !== 'none' ? e.stop : `unseen: ${e.outerHTML.slice(0, 100)}`);
		});
		// Inside a field for a day, Tab goes through three parts and a button.
		return { stops: list.length, more: 3 * list.filter((e) => e.type === 'date').length };
	});
	for (let i = 0; i < stops + more; i++) await page.keyboard.press('Tab');
	const order = await page.evaluate(() => globalThis.walked);
	assert.deepEqual(order, Array.from({ length: stops }, (_, i) => i), `${name}: the order of ${stops} stops`);
}

// On paper: the entry and what is known of its signature, dark on light
// whatever the reader's theme, with the addresses of links.
export async function printed(page, name) {
	await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
	const found = await page.evaluate(() => {
		document.documentElement.dataset.theme = 'dark';
		const shown = (selector) => [...document.querySelectorAll(selector)].some((e) => e.checkVisibility());
		const on = { text: shown('.text'), facts: shown('.facts'), rest: shown('.mast, .colophon, .acts, .deeds, .neighbours'), scheme: getComputedStyle(document.documentElement).colorScheme };
		delete document.documentElement.dataset.theme;
		return on;
	});
	assert.deepEqual(found, { text: true, facts: true, rest: false, scheme: 'light' }, `${name} on paper`);
	await page.emulateMedia({ media: 'screen' });
}
