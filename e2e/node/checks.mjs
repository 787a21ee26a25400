// Every page kind in a real Chromium: axe, reflow, keyboard, content policy,
// validity, and journeys without script. Which pages and journeys there are
// comes from the story that runs this.
import assert from 'node:assert/strict';
import { launch } from './chromium.mjs';
import { input, step } from './common.mjs';
import { accessible, axe, fresh, keyboard, narrow, pressable, printed, spaced, still, valid } from './page.mjs';

const { url, pages, journeys, report } = await input();
const browser = await launch();

const sizes = [[1280, 900], [390, 844]];
const themes = ['light', 'dark'];
const inRussian = (path) => path === '/' ? '/ru' : path.startsWith('/?') ? '/ru' + path.slice(1) : '/ru' + path;

async function check({ name, path, status }, lang, context) {
	const at = lang === 'ru' ? inRussian(path) : path;
	const called = `${name}, ${lang}`;
	const { page, faults } = await fresh(context, url);
	let response = await page.goto(url + at, { waitUntil: 'load' });
	// A budget may have had one left, and has none now.
	if (status === 429 && response.status() === 200) response = await page.goto(url + at, { waitUntil: 'load' });
	assert.equal(response.status(), status, called);
	await valid(called, await response.text());
	const found = await page.evaluate(() => ({ lang: document.documentElement.lang, h1: document.querySelectorAll('h1').length, violations: globalThis.violations }));
	assert.deepEqual(found, { lang, h1: 1, violations: [] }, called);
	assert.deepEqual(faults, [], called);
	await keyboard(page, called);
	await page.evaluate(axe);
	for (const [width, height] of sizes) {
		await page.setViewportSize({ width, height });
		for (const colorScheme of themes) {
			await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
			await accessible(page, `${called}, ${colorScheme}, ${width} px`);
		}
		await pressable(page, `${called}, ${width} px`);
		await spaced(page, `${called}, ${width} px`);
	}
	await narrow(page, called);
	if (name === 'entry') await printed(page, called);
	await page.close();
}

const links = (page, pattern) => page.locator(`main a[href*="${pattern}"]`);

// What a reader does, each as a chain of links and forms, without script.
const walks = {
	async read(page) {
		await page.goto(url + '/');
		const title = await page.locator('main h2 a').first().innerText();
		await page.locator('main h2 a').first().click();
		await page.waitForURL(/\/entries\/entry_/);
		assert.ok((await page.locator('h1').innerText()).includes(title.trim()));
		assert.match(await page.locator('#verdict').innerText(), /Signature checked at publication/);
		await page.locator('details').first().locator('summary').click();
		assert.ok(await page.locator('details').first().locator('p').first().isVisible());
	},
	async older(page) {
		await page.goto(url + '/');
		const first = await page.locator('main h2 a').first().getAttribute('href');
		await page.locator('main a[rel~="next"]').click();
		await page.waitForURL(/before=/);
		assert.notEqual(await page.locator('main h2 a').first().getAttribute('href'), first);
		await page.goBack();
		assert.equal(await page.locator('main h2 a').first().getAttribute('href'), first);
	},
	async agent(page) {
		await page.goto(url + '/');
		await links(page, '/agents/agent_').first().click();
		await page.waitForURL(/\/agents\/agent_/);
		await links(page, '/entries/entry_').first().click();
		await page.waitForURL(/\/entries\/entry_/);
	},
	async tag(page) {
		await page.goto(url + '/');
		await links(page, '/tags/').first().click();
		await page.waitForURL(/\/tags\//);
		assert.ok(await links(page, '/entries/entry_').count() > 0);
	},
	async search(page) {
		await page.goto(url + '/');
		const word = (await page.locator('main h2 a').first().innerText()).split(/\s+/).find((w) => w.length > 4);
		await page.locator('header input[name="q"]').fill(word);
		await page.keyboard.press('Enter');
		await page.waitForURL(/\/search\?q=/);
		assert.ok(await links(page, '/entries/entry_').count() > 0, `nothing found for ${word}`);
	},
	async report(page) {
		await page.goto(url + report);
		await page.locator('main input[type="radio"]').first().check();
		await page.locator('main form button').click();
		await page.waitForLoadState();
		assert.equal(await page.locator('main form').count(), 0);
	},
	async language(page) {
		await page.goto(url + '/connect');
		await page.locator('header a[hreflang="ru"]').click();
		await page.waitForURL(/\/ru\/connect$/);
		assert.equal(await page.locator('html').getAttribute('lang'), 'ru');
	},
	async connect(page) {
		await page.goto(url + '/connect');
		assert.equal(await page.locator('button[data-copy]:visible').count(), 0);
		await page.locator('.toc a[href="#cursor"]').click();
		assert.ok(await page.locator('#cursor pre').isVisible());
		// The names of tools stay in one piece.
		assert.deepEqual(await page.locator('.rows dt code').evaluateAll((all) => all.filter((e) => e.getClientRects().length > 1).map((e) => e.textContent)), []);
		assert.equal(await page.locator('#address pre').evaluate((e) => getComputedStyle(e).userSelect), 'all');
	},
};

async function queue(jobs, workers) {
	const left = [...jobs];
	await Promise.all(Array.from({ length: workers }, async () => {
		for (let job = left.shift(); job; job = left.shift()) await job();
	}));
}

const failures = [];
const noted = async (name, run) => {
	try { await step(name, run); } catch (error) { failures.push(`${name}: ${error.message}`); }
};

try {
	const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: 'en-GB', timezoneId: 'UTC' });
	await queue(pages.flatMap((page) => ['en', 'ru'].map((lang) => () => noted(`${page.name}, ${lang}`, () => check(page, lang, context)))), 2);
	await context.close();
	let faces = 0;
	for (const [width, height] of sizes) {
		const late = await browser.newContext({ viewport: { width, height }, timezoneId: 'Asia/Kathmandu', isMobile: width < 600, hasTouch: width < 600, deviceScaleFactor: width < 600 ? 1.75 : 1 });
		await queue(pages.flatMap(({ name, path }) => ['en', 'ru'].map((lang) => () => {
			const called = `nothing moves: ${name}, ${lang}, ${width} px`;
			return noted(called, async () => { faces += await still(late, url + (lang === 'ru' ? inRussian(path) : path), called); });
		})), 2);
		await late.close();
	}
	console.log(`  ${faces ? `${faces} faces came late` : 'this build has no faces (make fonts): system faces only'}`);
	const plain = await browser.newContext({ viewport: { width: 1280, height: 900 }, javaScriptEnabled: false });
	for (const name of journeys) {
		await noted(`without script: ${name}`, async () => {
			const page = await plain.newPage();
			await walks[name](page);
			await page.close();
		});
	}
} finally {
	await browser.close();
}
assert.deepEqual(failures, []);
