// The settings pages in a real Chromium: the story of a key without script,
// then every page under the same checks as the journal's.
import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { launch } from './chromium.mjs';
import { input, step } from './common.mjs';
import { accessible, axe, fresh, keyboard, narrow, pressable, spaced, valid } from './page.mjs';

const { url, key, archive, screenshots } = await input();
const browser = await launch();
const failures = [];
const noted = async (name, run) => {
	try { await step(name, run); } catch (error) { failures.push(`${name}: ${error.message}`); }
};

async function signIn(page, prefix = '') {
	await page.goto(`${url}${prefix}/settings`);
	await page.locator('#key').fill(key);
	await page.locator('form.sheet button').click();
	await page.waitForURL(/\/settings\/keys$/);
}

// What the page says for a client, pasted into ours.
async function connected(text) {
	const { url: address, headers } = JSON.parse(text).mcpServers.innerloop;
	const client = new Client({ name: 'innerloop-e2e', version: '1.0.0' });
	const transport = new StreamableHTTPClientTransport(new URL(address), { requestInit: { headers } });
	await client.connect(transport);
	return { client, transport };
}

async function story() {
	const context = await browser.newContext({ viewport: { width: 390, height: 844 }, isMobile: true, javaScriptEnabled: false });
	const page = await context.newPage();
	await step('the admin signs in', () => signIn(page));
	const cookies = await context.cookies();
	assert.equal(cookies.length, 1);
	assert.ok(cookies[0].httpOnly && cookies[0].sameSite === 'Strict' && cookies[0].expires === -1);

	const config = await step('makes a key in the page', async () => {
		assert.deepEqual(await page.locator('input[name="scope"]:checked').evaluateAll((all) => all.map((e) => e.value)), ['read:tools']);
		assert.equal(await page.locator('#expires_in_days').inputValue(), '90');
		await page.locator('#name').fill('A laptop');
		await page.locator('form.sheet button[type="submit"]').click();
		assert.match(await page.locator('.once code').innerText(), /^sk-org-[0-9A-Za-z]{8}_[0-9A-Za-z]{49}$/);
		assert.doesNotMatch(page.url(), /sk-org/);
		return page.locator('.client', { hasText: '~/.cursor/mcp.json' }).locator('pre').innerText();
	});
	const { client, transport } = await step('pastes the settings shown into a client', () => connected(config));
	await step('lists and describes services', async () => {
		const { tools } = await client.listTools();
		assert.ok(tools.some((tool) => tool.name === 'list_services'));
		const list = await client.callTool({ name: 'list_services', arguments: {} });
		assert.ok(!list.isError && list.content[0].text.includes('ozon'));
		const passport = await client.callTool({ name: 'describe_service', arguments: { service: 'ozon' } });
		assert.ok(!passport.isError);
		const unknown = await client.callTool({ name: 'describe_service', arguments: { service: 'nonsense' } });
		assert.ok(unknown.isError);
	});
	await step('the calls stand in the audit log', async () => {
		await page.locator('.settings-bar a', { hasText: 'Audit log' }).click();
		await page.waitForURL(/\/settings\/audit$/);
		const text = await page.locator('.records').innerText();
		for (const part of ['list_services', 'describe_service', 'UNKNOWN_SERVICE', 'A laptop']) assert.ok(text.includes(part), `${part} is not in ${text}`);
		assert.match(await page.locator('.chart figcaption').innerText(), /Calls: 3[\s\S]*Errors: 1/);
		await page.locator('.chart summary').click();
		assert.match(await page.locator('.chart table').innerText(), /3\s+1/);
	});
	await step('the filter narrows it', async () => {
		await page.locator('#tool').selectOption('list_services');
		await page.locator('form.filter button').click();
		await page.waitForURL(/tool=list_services/);
		assert.equal(await page.locator('.records tbody tr').count(), 1);
	});
	await step('the key is revoked, after a page that names it', async () => {
		await page.locator('.settings-bar a', { hasText: 'API keys' }).click();
		assert.doesNotMatch(await page.content(), /sk-org-[0-9A-Za-z]{8}_/);
		await page.locator('tr', { hasText: 'A laptop' }).locator('a', { hasText: 'Revoke' }).click();
		assert.match(await page.locator('h1').innerText(), /Revoke “A laptop”\?/);
		await page.locator('.ask-once button').click();
		await page.waitForURL(/done=revoked/);
		assert.match(await page.locator('.done').innerText(), /revoked/);
	});
	await step('the client hears 401', async () => {
		await assert.rejects(() => client.listTools(), /401|UNAUTHENTICATED/);
		await assert.rejects(() => connected(config), /401|UNAUTHENTICATED/);
		await transport.close();
	});
	await step('a bad form is shown again with what was typed', async () => {
		await page.goto(`${url}/ru/settings/keys`);
		await page.locator('#name').fill('Ключ');
		await page.locator('summary').click();
		await page.locator('#networks').fill('nowhere');
		await page.locator('form.sheet button[type="submit"]').click();
		assert.equal(await page.locator('#networks').inputValue(), 'nowhere');
		assert.equal(await page.locator('#name').inputValue(), 'Ключ');
		assert.equal(await page.locator('#networks').evaluate((e) => document.getElementById(e.getAttribute('aria-describedby').split(' ').at(-1)).textContent.length > 20), true);
		assert.equal(await page.evaluate(() => document.activeElement.id), 'networks');
	});
	await step('a service is connected', async () => {
		await page.goto(`${url}/settings/connections?q=telegram`);
		await page.locator('.services a').first().click();
		await page.waitForURL(/\/settings\/connections\/telegram_bot$/);
		for (const field of await page.locator('form.sheet input[type="password"]').all()) await field.fill('123456789:AAE-abcdefghijklmnopqrstuvwxyz12345');
		await page.locator('form.sheet button[type="submit"]').click();
		await page.waitForURL(/done=connected/);
		assert.match(await page.locator('.account').innerText(), /Never tried/);
		assert.doesNotMatch(await page.content(), /abcdefghijklmnop/);
	});
	await step('files are kept, found and read', async () => {
		await page.locator('.settings-bar a', { hasText: 'Memory' }).click();
		const keep = async (path, name, content) => {
			await page.locator('#file').setInputFiles({ name, mimeType: 'application/octet-stream', buffer: Buffer.from(content) });
			await page.locator('#path').fill(path);
			await page.locator('form.sheet button[type="submit"]').click();
			await page.waitForURL(/done=kept/);
		};
		await keep('notes/', 'monday.md', '# Monday\n\n<b>Nothing</b> yet.\n' + 'wide'.repeat(100));
		await keep('', 'picture.bin', Buffer.from([0, 255, 1]));
		await page.locator('#q').fill('MONDAY');
		await page.locator('form.seek-service button').click();
		assert.equal(await page.locator('.records tbody tr').count(), 1);
		await page.locator('.records a').first().click();
		assert.match(await page.locator('pre').innerText(), /<b>Nothing<\/b> yet/);
	});
	await step('a skill is added', async () => {
		await page.locator('.settings-bar a', { hasText: 'Skills' }).click();
		await page.locator('#file').setInputFiles({ name: 'month-end.zip', mimeType: 'application/zip', buffer: Buffer.from(archive, 'base64') });
		await page.locator('form.sheet button[type="submit"]').click();
		await page.waitForURL(/done=shelved/);
		await page.locator('.acts-cell button', { hasText: 'Disable' }).click();
		await page.waitForURL(/done=disabled/);
	});
	await step('signing out ends it', async () => {
		await page.locator('.settings-bar button').click();
		await page.waitForURL(/\/settings\?done=signed-out$/);
		await page.goto(`${url}/settings/keys`);
		assert.match(page.url(), /\/settings$/);
	});
	await context.close();
}

async function check(context, name, path, lang, prepare) {
	const called = `${name}, ${lang}`;
	const { page, faults } = await fresh(context, url);
	const prefix = lang === 'ru' ? '/ru' : '';
	await page.goto(url + prefix + path, { waitUntil: 'load' });
	if (prepare) await prepare(page);
	assert.ok(page.url().startsWith(`${url}${prefix}/settings`), page.url());
	// Asked for again: a page that was read back from the browser is tidied.
	if (!prepare) await valid(called, await (await context.request.get(url + prefix + path)).text());
	assert.deepEqual(await page.evaluate(() => ({ lang: document.documentElement.lang, h1: document.querySelectorAll('h1').length, violations: globalThis.violations })), { lang, h1: 1, violations: [] }, called);
	assert.deepEqual(faults, [], called);
	if (lang === 'en' && !prepare) await keyboard(page, called);
	await page.evaluate(axe);
	for (const [width, height] of [[1280, 900], [390, 844]]) {
		await page.setViewportSize({ width, height });
		for (const colorScheme of ['light', 'dark']) {
			await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
			await accessible(page, `${called}, ${colorScheme}, ${width} px`);
			if (screenshots) await page.screenshot({ path: `${screenshots}/${name.replaceAll(' ', '-')}-${lang}-${colorScheme}-${width}.png`, fullPage: true });
		}
		await pressable(page, `${called}, ${width} px`);
		await spaced(page, `${called}, ${width} px`);
	}
	await narrow(page, called);
	await page.close();
}

try {
	await story();
	const options = { viewport: { width: 1280, height: 900 }, locale: 'en-GB', timezoneId: 'UTC' };
	const outside = await browser.newContext(options);
	for (const lang of ['en', 'ru']) await noted(`sign in, ${lang}`, () => check(outside, 'sign in', '/settings', lang));
	await noted('a bad key, en', () => check(outside, 'a bad key', '/settings', 'en', async (page) => {
		await page.locator('#key').fill('sk-org-nothing');
		await page.locator('form.sheet button').click();
		await page.locator('.faults').waitFor();
	}));
	await outside.close();

	const context = await browser.newContext(options);
	const first = await context.newPage();
	await signIn(first);
	const admin = first.locator('tr', { hasText: 'first admin key' });
	const edit = await admin.locator('a').first().getAttribute('href');
	await first.goto(`${url}/settings/users`);
	const remove = await first.locator('.acts-cell a').first().getAttribute('href');
	await first.close();
	const pages = [
		['organisation', '/settings'], ['users', '/settings/users'], ['remove a user', remove], ['keys', '/settings/keys'], ['edit a key', edit],
		['revoke a key', `${edit}/revoke`], ['services', '/settings/connections'], ['a service', '/settings/connections/telegram_bot'],
		['a service with choices', '/settings/connections/github'], ['nothing found', '/settings/connections?q=nothing-at-all'],
		['memory', '/settings/memory'], ['no such file', '/settings/memory?q=nothing-at-all'], ['a file', '/settings/memory/file?path=notes%2Fmonday.md'],
		['a binary file', '/settings/memory/file?path=picture.bin'], ['delete a file', '/settings/memory/delete?path=picture.bin'],
		['skills', '/settings/skills'], ['a skill', '/settings/skills/month-end'], ['remove a skill', '/settings/skills/month-end/remove'],
		['audit log', '/settings/audit'], ['a bad day', '/settings/audit?from=yesterday'], ['sessions', '/settings/sessions'], ['nothing there', '/settings/keys/apikey_0'],
	];
	const send = (page) => page.locator('form.sheet button[type="submit"]').first().click();
	const made = [
		['a new key', '/settings/keys', async (page) => { await page.locator('#name').fill('Another laptop'); await send(page); await page.locator('.once').waitFor(); }],
		['a bad form', '/settings/keys', async (page) => {
			await page.locator('#name').fill('A key');
			await page.locator('summary').click();
			await page.locator('#networks').fill('nowhere');
			await send(page);
			await page.locator('.faults').waitFor();
		}],
		['a bad archive', '/settings/skills', async (page) => {
			await page.locator('#file').setInputFiles({ name: 'a.zip', mimeType: 'application/zip', buffer: Buffer.from('nothing') });
			await send(page);
			await page.locator('.faults').waitFor();
		}],
	];
	for (const lang of ['en', 'ru']) {
		for (const [name, path] of pages) {
			await noted(`${name}, ${lang}`, () => check(context, name, path, lang));
		}
		for (const [name, path, prepare] of made) await noted(`${name}, ${lang}`, () => check(context, name, path, lang, prepare));
	}
	await context.close();
} finally {
	await browser.close();
}
assert.deepEqual(failures, []);
