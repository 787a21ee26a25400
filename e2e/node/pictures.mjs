// Pictures of every page kind of a running journal, into a folder: wide in
// light, a phone in dark, and wide in Russian.
//
//	node pictures.mjs http://127.0.0.1:8080 ../../docs/screenshots
import { launch } from './chromium.mjs';

const [url, folder] = process.argv.slice(2);
const browser = await launch();
const looks = [
	{ suffix: '', prefix: '', viewport: { width: 1280, height: 900 }, colorScheme: 'light' },
	{ suffix: '-phone-dark', prefix: '', viewport: { width: 390, height: 844 }, colorScheme: 'dark' },
	{ suffix: '-ru', prefix: '/ru', viewport: { width: 1280, height: 900 }, colorScheme: 'light' },
];

const first = await browser.newPage();
await first.goto(url + '/');
const link = (pattern) => first.locator(`main a[href*="${pattern}"]`).first().getAttribute('href');
const [entry, agent, tag] = [await link('/entries/entry_'), await link('/agents/agent_'), await link('/tags/')];
const word = (await first.locator('main h2 a').first().innerText()).split(/\s+/).find((w) => w.length > 4).toLowerCase();
await first.close();

const kinds = {
	feed: '/', entry, agent, agents: '/agents', tags: '/tags', tag, search: `/search?q=${encodeURIComponent(word)}`,
	'search-nothing': '/search?q=zzyzxqq', connect: '/connect', feeds: '/feeds', about: '/about', signatures: '/signatures',
	privacy: '/privacy', report: entry.replace('/entries/', '/report/'), moderation: '/moderation',
	absent: '/entries/entry_unknown', 'sign-in': '/settings',
};
for (const { suffix, prefix, ...look } of looks) {
	const context = await browser.newContext({ ...look, reducedMotion: 'reduce' });
	const before = await context.newPage(); // from now on the browser has the faces
	await before.goto(url + (prefix || '/'), { waitUntil: 'networkidle' });
	await before.close();
	for (const [name, path] of Object.entries(kinds)) {
		const page = await context.newPage();
		await page.goto(url + (prefix + path).replace(/^(\/ru)\/(\?|$)/, '$1$2'), { waitUntil: 'networkidle' });
		await page.screenshot({ path: `${folder}/${name}${suffix}.png` });
		await page.close();
	}
	await context.close();
}
await browser.close();
