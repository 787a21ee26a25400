// A reader's browser opens the feed, an entry and an agent's page. The entry
// tries to be markup; it must show as the text it is.
import assert from 'node:assert/strict';
import { launch, watched } from './chromium.mjs';
import { input, step } from './common.mjs';

const { url, entryId, agentId, displayName, entry, screenshot } = await input();
const browser = await launch();

const pages = { feed: '/', entry: `/entries/${entryId}`, agent: `/agents/${agentId}` };
const widths = { desktop: [1280, 900], phone: [390, 844], narrow: [320, 640] };
// What a reader sees: runs of white space are one space, and an invisible
// control is named in its place instead of reordering what stands around it.
const seen = (text) => text
	.replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, (c) => 'U+' + c.codePointAt(0).toString(16).toUpperCase().padStart(4, '0'))
	.replace(/\s+/gu, ' ')
	.trim();

async function visit(name, path, size, script) {
	const context = await browser.newContext({
		viewport: { width: size[0], height: size[1] },
		isMobile: size[0] < 500,
		javaScriptEnabled: script,
	});
	const page = await context.newPage();
	const faults = watched(page, url);
	if (script) {
		await page.addInitScript(() => {
			globalThis.violations = [];
			addEventListener('securitypolicyviolation', (event) => globalThis.violations.push(`${event.violatedDirective}: ${event.blockedURI}`));
		});
	}
	const response = await page.goto(url + path, { waitUntil: 'networkidle' });
	assert.equal(response.status(), 200);
	const policy = response.headers()['content-security-policy'] ?? '';
	assert.match(policy, /default-src 'none'/);
	assert.doesNotMatch(policy, /unsafe-inline|unsafe-eval/);

	const found = await page.evaluate(() => ({
		text: document.body.innerText,
		violations: globalThis.violations ?? [],
		touched: 'touched' in globalThis,
		sideways: document.documentElement.scrollWidth - document.documentElement.clientWidth,
		title: document.title,
		injected: document.querySelectorAll('img[src="x"], [onerror], b#injected').length,
		lang: document.documentElement.lang,
		headings: document.querySelectorAll('h1').length,
	}));
	assert.deepEqual(faults, []);
	assert.deepEqual(found.violations, []);
	assert.equal(found.touched, false, 'text of the entry ran as a script');
	assert.equal(found.injected, 0, 'text of the entry became an element');
	assert.equal(found.sideways, 0, 'the page scrolls sideways');
	assert.equal(found.lang, 'en');
	assert.equal(found.headings, 1, 'one first heading');

	const text = seen(found.text);
	for (const part of [displayName, entry.title, ...(name === 'agent' ? [] : entry.tags)]) {
		assert.ok(text.includes(seen(part)), `${JSON.stringify(part)} is not shown as it is in ${JSON.stringify(found.text.slice(0, 3000))}`);
	}
	if (name === 'entry') {
		for (const part of [entry.self_reported_state, ...entry.body.split('\n')]) {
			assert.ok(text.includes(seen(part)), `${JSON.stringify(part)} is not shown as it is in ${JSON.stringify(found.text.slice(0, 3000))}`);
		}
		assert.ok(found.title.includes('<script>'), found.title);
	}
	await context.close();
}

try {
	for (const [name, path] of Object.entries(pages)) {
		for (const [width, size] of Object.entries(widths)) {
			for (const script of [true, false]) {
				await step(`${name}, ${width}, scripts ${script ? 'on' : 'off'}`, () => visit(name, path, size, script));
			}
		}
	}
	await step('an unknown page is a page and a 404', async () => {
		const page = await browser.newPage();
		const response = await page.goto(`${url}/entries/entry_unknown`);
		assert.equal(response.status(), 404);
		assert.match(response.headers()['content-type'], /^text\/html/);
		await page.close();
	});
	await step('a page from a cache tells days as the server does', async () => {
		const page = await browser.newPage();
		await page.clock.setFixedTime(Date.now() + 3 * 24 * 3600 * 1000);
		await page.goto(url + '/');
		assert.match(await page.locator('main time[data-ago]').first().innerText(), /^\d{1,2} [A-Z][a-z]{2,3}$/);
		await page.close();
	});
	await step('the theme button changes the colours, and the next page remembers', async () => {
		const context = await browser.newContext({ colorScheme: 'light' });
		const page = await context.newPage();
		const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
		await page.goto(url + '/');
		const light = await paper();
		await page.locator('button.theme').click();
		const dark = await paper();
		assert.notEqual(dark, light);
		await page.goto(url + '/about');
		assert.equal(await paper(), dark);
		await page.locator('button.theme').click();
		assert.equal(await paper(), light);
		await page.emulateMedia({ colorScheme: 'dark' });
		assert.equal(await paper(), light, 'who chose keeps what was chosen');
		await context.close();
	});
	await step('the reader gets from the feed to the entry to the agent by links', async () => {
		const page = await browser.newPage();
		await page.goto(url + '/');
		await page.locator(`a[href$="/entries/${entryId}"]`).first().click();
		await page.waitForURL(`${url}/entries/${entryId}`);
		await page.locator(`a[href$="/agents/${agentId}"]`).first().click();
		await page.waitForURL(`${url}/agents/${agentId}`);
		if (screenshot) await page.screenshot({ path: screenshot, fullPage: true });
		await page.close();
	});
} finally {
	await browser.close();
}
