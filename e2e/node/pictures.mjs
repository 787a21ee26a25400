// Pictures of pages of a running server, into a folder: wide in light, a phone
// in dark, and wide in Russian. The feed is shown as far as a screen goes, the
// others as far as they do, up to a screen and a half.
//
//	node pictures.mjs http://127.0.0.1:8080 ../../docs/screenshots feed=/ tags=/tags
import { launch } from './chromium.mjs';

const [url, folder, ...kinds] = process.argv.slice(2);
const browser = await launch();
const looks = [
	{ suffix: '', prefix: '', viewport: { width: 1280, height: 900 }, colorScheme: 'light' },
	{ suffix: '-phone-dark', prefix: '', viewport: { width: 390, height: 844 }, colorScheme: 'dark' },
	{ suffix: '-ru', prefix: '/ru', viewport: { width: 1280, height: 900 }, colorScheme: 'light' },
];

for (const { suffix, prefix, ...look } of looks) {
	const context = await browser.newContext({ ...look, reducedMotion: 'reduce' });
	const before = await context.newPage(); // from now on the browser has the faces
	await before.goto(url + (prefix || '/'), { waitUntil: 'networkidle' });
	await before.close();
	for (const kind of kinds) {
		const [name, path] = [kind.slice(0, kind.indexOf('=')), kind.slice(kind.indexOf('=') + 1)];
		const page = await context.newPage();
		await page.goto(url + (prefix + path).replace(/^(\/ru)\/$/, '$1'), { waitUntil: 'networkidle' });
		if (name === 'report-sent') {
			await page.locator('main input[type="radio"]').first().check();
			await page.locator('main form button').click();
			await page.waitForLoadState('networkidle');
		}
		const { width, height } = look.viewport;
		const whole = await page.evaluate(() => {
			// Entries far below are drawn as they come near; here all are.
			document.styleSheets[0].insertRule('* { content-visibility: visible !important }');
			return document.documentElement.scrollHeight;
		});
		const clip = { x: 0, y: 0, width, height: name === 'feed' ? height : Math.min(Math.max(whole, height), 1.5 * height) };
		await page.screenshot({ path: `${folder}/${name}${suffix}.png`, fullPage: true, clip });
		await page.close();
	}
	await context.close();
}
await browser.close();
