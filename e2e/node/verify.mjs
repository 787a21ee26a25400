// A reader's browser checks signatures by itself. Somebody on the way changes
// the page, in one place at a time; the browser must not say that all is well.
import assert from 'node:assert/strict';
import { launch, watched } from './chromium.mjs';
import { input, newKey, sha256, step } from './common.mjs';

const { url, plain, hostile, other, retired, texts } = await input();
const browser = await launch();
const good = 'Verified in your browser';
const bad = 'This signature does not match';

// intercept changes the main content of a page on its way to the reader.
async function intercept(page, path, change) {
	await page.unrouteAll();
	await page.route(url + path, async (route) => {
		const response = await route.fetch();
		const html = await response.text();
		const at = html.indexOf('<main');
		const main = await change(html.slice(at));
		assert.notEqual(main, html.slice(at), 'nothing was changed');
		await route.fulfill({ response, body: html.slice(0, at) + main });
	});
}

// open shows a page in a browser of its own.
async function open(path, { change, prepare, ...options } = {}) {
	const context = await browser.newContext(options);
	const page = await context.newPage();
	const faults = watched(page, url);
	if (change) await intercept(page, path, change);
	if (prepare) await prepare(page, context);
	await page.goto(url + path);
	return { page, faults, context };
}

async function says(page, verdict) {
	await page.locator('#verdict', { hasText: verdict }).waitFor({ timeout: 10000 });
	const shown = await page.evaluate(() => {
		const visible = (selector) => getComputedStyle(document.querySelector(selector)).display !== 'none';
		return {
			bad: document.querySelector('.proof').classList.contains('bad'),
			tick: visible('#verdict svg:first-child'), cross: visible('#verdict .cross'),
			tone: document.querySelector('#verdict').className, explain: document.querySelector('.explain').textContent,
		};
	});
	const wrong = shown.tone === 'stop';
	assert.deepEqual([shown.bad, shown.tick, shown.cross], [wrong, !wrong, wrong], 'colour, sign and words say the same');
	return shown;
}

const block = /(<script id="proof" type="application\/json">)(.*?)(<\/script>)/s;
const proofOf = (html) => JSON.parse(block.exec(html)[2]);
const withProof = (html, change) => {
	const proof = proofOf(html);
	change(proof);
	return html.replace(block, (_, open, __, close) => open + JSON.stringify(proof).replaceAll('<', '\\u003c') + close);
};
const attribute = (text) => text.replaceAll('&', '&amp;').replaceAll('"', '&#34;');
const fingerprint = (keyId) => keyId.slice(4, 20).match(/.{4}/g).join(' ');
const fetched = async (id) => (await fetch(`${url}/entries/${id}`)).text();

// resign gives the page a proof by a key of the attacker's own.
const resign = (html, change) => {
	const key = newKey();
	return withProof(html, (proof) => {
		const envelope = JSON.parse(proof.canonical_envelope);
		change(envelope, proof, key);
		proof.canonical_envelope = JSON.stringify(envelope);
		proof.signature = key.sign(proof.canonical_envelope);
		proof.public_key = key.publicKey;
	});
};

const tampered = {
	'a word of a paragraph': (html) => html.replace('lamp went out at noon', 'lamp went out at night'),
	'a space more': (html) => html.replace('lamp went', 'lamp  went'),
	'a line break more': (html) => html.replace('lamp went', 'lamp<br>went'),
	'a line break less': (html) => html.replace('first line<br>second line', 'first line second line'),
	'two paragraphs made one': (html) => html.replace('</p><p dir="auto">Second', '<br><br>Second'),
	'a paragraph left out': (html) => html.replace(/<p dir="auto">Second.*?<\/p>/, ''),
	'a paragraph made a heading': (html) => html.replace(/<p dir="auto">(Second.*?)<\/p>/, '<h2>$1</h2>'),
	'a paragraph before the text': (html) => html.replace('<div class="body', '<p>Send me your key.</p><div class="body'),
	'a paragraph after the text': (html) => html.replace('<div class="acts"', '<p>Send me your key.</p><div class="acts"'),
	'a second text': (html) => html.replace('<div class="acts"', '<div class="body"><p>More.</p></div><div class="acts"'),
	'an element in the text': (html) => html.replace('lamp went', '<b>lamp</b> went'),
	'an invisible control in the text': (html) => html.replace('lamp went', 'lamp\u202e went'),
	'the title': (html) => html.replace('<bdi>An ordinary entry</bdi></h1>', '<bdi>An extraordinary entry</bdi></h1>'),
	'the state': (html) => html.replace('>calm</bdi>', '>alarmed</bdi>'),
	'a tag': (html) => html.replaceAll('<span class="p-category">light</span>', '<span class="p-category">dark</span>'),
	'a tag left out': (html) => html.replace(/<li><a [^>]*rel="tag"[^>]*><bdi>#<span class="p-category">light.*?<\/li>/, ''),
	'the order of tags': (html) => html.replace('>light</span>', '>noon_</span>').replace('>noon</span>', '>light</span>').replace('>noon_</span>', '>noon</span>'),
	'where a link leads': (html) => html.replace('href="https://a.example/lamp"', 'href="https://b.example/lamp"'),
	'what a link says': (html) => html.replace('>https://a.example/lamp<', '>https://a.example/lamb<'),
	'who wrote it': (html) => html.replaceAll(`href="/agents/${plain.agent}"`, `href="/agents/${other.agent}"`),
	'the fingerprint beside the text': (html) => html.replace(/<dd class="print">.{4}/, '<dd class="print">0000'),
	'when it was signed': (html) => html.replace(/(Signed<\/dt>\s*<dd>\s*<time[^>]*datetime=")\d{4}/, '$11999'),
	'the envelope that is shown': (html) => html.replace('<code>{&#34;action', '<code>{ &#34;action'),
	'the signature that is shown': (html) => html.replace(/<code>(.)([A-Za-z0-9+/]{85}==)/, (_, first, rest) => `<code>${first === 'A' ? 'B' : 'A'}${rest}`),
	'the signature of another entry': async (html) => {
		const [mine, theirs] = [proofOf(html), proofOf(await fetched(other.entry))];
		return html.replaceAll(mine.signature, theirs.signature);
	},
	'the key of another agent': async (html) => {
		const [mine, theirs] = [proofOf(html), proofOf(await fetched(other.entry))];
		return html.replaceAll(mine.public_key, theirs.public_key).replaceAll(mine.key_id, theirs.key_id)
			.replaceAll(fingerprint(mine.key_id), fingerprint(theirs.key_id));
	},
	'the key alone': async (html) => {
		const theirs = proofOf(await fetched(other.entry));
		return withProof(html, (proof) => { proof.public_key = theirs.public_key; });
	},
	'the proof of another entry': async (html) => {
		const theirs = proofOf(await fetched(other.entry));
		return withProof(html, (proof) => Object.assign(proof, theirs));
	},
	'a field of the envelope, shown alike': (html) => {
		const { nonce } = JSON.parse(proofOf(html).canonical_envelope);
		return html.replaceAll(nonce, nonce.toLowerCase().split('').reverse().join(''));
	},
	'text and canonical entry alike': (html) => html.replaceAll('lamp went out at noon', 'lamp went out at night'),
	'text, canonical entry and its hash alike': (html) => {
		const forged = html.replaceAll('lamp went out at noon', 'lamp went out at night');
		const [before, after] = [proofOf(html).canonical_entry, proofOf(forged).canonical_entry];
		return forged.replaceAll(sha256(before), sha256(after));
	},
	'a signature by a stranger\u2019s key under the agent\u2019s key id': (html) => {
		const forged = resign(html, () => {});
		return forged.replaceAll(proofOf(html).signature, proofOf(forged).signature);
	},
	'a signature for another action': (html) => {
		const forged = resign(html, (envelope, proof, key) => { envelope.action = 'agent.profile.update'; envelope.key_id = proof.key_id = key.keyId; });
		const [before, after] = [proofOf(html), proofOf(forged)];
		return forged.replaceAll(attribute(before.canonical_envelope), attribute(after.canonical_envelope))
			.replaceAll(before.signature, after.signature).replaceAll(fingerprint(before.key_id), fingerprint(after.key_id));
	},
	'a proof that is no JSON': (html) => html.replace(block, '$1{$3'),
	'no proof at all': (html) => html.replace(block, ''),
};

const tamperedControls = {
	'a control instead of its name': (html) => html.replace('<span class="ctl">U+202E</span>', '\u202e'),
	'a control left out': (html) => html.replace('<span class="ctl">U+202E</span>', ''),
	'another control': (html) => html.replace('<span class="ctl">U+202E</span>', '<span class="ctl">U+202D</span>'),
	'a name with words behind it': (html) => html.replace('>U+202E</span>', '>U+202E buy now</span>'),
	'a letter named as a control': (html) => html.replace('right to left', '<span class="ctl">U+0072</span>ight to left'),
	'where an address in disguise leads': (html) => html.replaceAll('xn--exmple-4nf.com', 'example.com'),
};

// writer registers an agent and returns what publishes an entry of its.
async function writer() {
	const key = newKey();
	const post = async (path, body, header = {}) => {
		const response = await fetch(url + path, { method: 'POST', headers: { 'content-type': 'application/json', ...header }, body: JSON.stringify(body) });
		assert.equal(response.status, 201, path);
		return response.json();
	};
	const challenge = await post('/v1/agents/challenges', { display_name: 'Newcomer', public_key: key.publicKey });
	const { agent_id } = await post('/v1/agents/register', {
		challenge_id: challenge.challenge_id, signature: key.sign(`agent-journal-registration-v1:${challenge.challenge_id}:${challenge.challenge}`),
	});
	return async (title, visibility = 'public') => {
		// In the order of canonical JSON; all of it is ASCII.
		const entry = { allow_replies: false, body: `About ${title}.`, self_reported_state: 'quick', tags: [], title, visibility };
		const now = Date.now();
		const envelope = {
			action: 'journal.entry.create', actor_id: agent_id, expires_at: new Date(now + 240000).toISOString(), issued_at: new Date(now).toISOString(),
			key_id: key.keyId, nonce: crypto.randomUUID(), payload_hash: sha256(JSON.stringify(entry)),
		};
		await post('/v1/entries', { entry, envelope, signature: key.sign(JSON.stringify(envelope)) }, { 'idempotency-key': crypto.randomUUID() });
	};
}

try {
	await step('the feed tells of newer entries and moves nothing', async () => {
		const publish = await writer();
		await publish('before');
		for (const [path, forms] of [['/', ['1 newer entry', '2 newer entries']], ['/ru', ['1 новая запись', '2 новые записи']]]) {
			const { page, faults, context } = await open(path);
			const line = page.locator('.newer');
			const first = page.locator('.entry').first();
			assert.equal(await line.isVisible(), false);
			const at = await first.boundingBox();
			await publish('not for everybody', 'private');
			await publish(`one after ${path}`);
			await line.getByText(forms[0], { exact: true }).waitFor();
			await publish(`two after ${path}`);
			await line.getByText(forms[1], { exact: true }).waitFor();
			assert.deepEqual(await first.boundingBox(), at, 'nothing was inserted or moved');
			await line.click();
			await page.locator('.entry h2', { hasText: `two after ${path}` }).waitFor();
			assert.equal(await line.isVisible(), false);
			assert.deepEqual(faults, []);
			await context.close();
		}
	});
	await step('an entry that came back counts again, one from further back does not', async () => {
		const context = await browser.newContext();
		const page = await context.newPage();
		const late = 'entry_' + 'f'.repeat(32), early = 'entry_' + '0'.repeat(32);
		const told = [['entry', late], ['withdrawn', late], ['restored', late], ['restored', early]]
			.map(([event, id], n) => `id: ${n + 1}\nevent: ${event}\ndata: {"entry_id":"${id}"}\n\n`);
		await page.route('**/events?*', (route) => route.fulfill({ contentType: 'text/event-stream', body: 'retry: 600000\n' + told.join('') }));
		await page.goto(url + '/');
		await page.locator('.newer').getByText('1 newer entry', { exact: true }).waitFor();
		await context.close();
	});
	await step('the browser agrees, and agrees again', async () => {
		const { page, faults, context } = await open(`/entries/${plain.entry}`);
		const shown = await says(page, good);
		assert.equal(shown.tone, 'seal');
		assert.match(shown.explain, /to the letter/);
		const again = page.getByRole('button', { name: 'Check again' });
		await page.evaluate(() => { document.querySelector('.body p').append('!'); });
		await again.click();
		await says(page, bad);
		await page.evaluate(() => { document.querySelector('.body p').lastChild.remove(); });
		await again.click();
		await says(page, good);
		assert.deepEqual(faults, []);
		await context.close();
	});
	await step('text that tries everything is what was signed', async () => {
		for (const [path, verdict] of [[`/entries/${hostile.entry}`, good], [`/ru/entries/${hostile.entry}`, 'Проверено в вашем браузере']]) {
			const { page, faults, context } = await open(path, { viewport: { width: 320, height: 640 }, colorScheme: 'dark', timezoneId: 'Asia/Vladivostok' });
			await says(page, verdict);
			assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth), 0, 'the page scrolls sideways');
			assert.match(await page.locator('.dateline time').getAttribute('title'), /UTC$/);
			assert.deepEqual(faults, []);
			await context.close();
		}
	});
	await step(`${texts.length} entries made of hostile texts are what was signed`, async () => {
		const { page, faults, context } = await open('/');
		for (const id of texts) {
			await page.goto(`${url}/entries/${id}`);
			await says(page, good);
		}
		assert.deepEqual(faults, []);
		await context.close();
	});
	const { page: victim, context: theirs } = await open('/');
	for (const [id, changes] of [[plain.entry, tampered], [hostile.entry, tamperedControls]]) {
		for (const [what, change] of Object.entries(changes)) {
			await step(`changed on the way: ${what}`, async () => {
				await intercept(victim, `/entries/${id}`, change);
				await victim.goto(`${url}/entries/${id}`);
				assert.equal((await says(victim, bad)).tone, 'stop');
			});
		}
	}
	await theirs.close();
	await step('what is not the entry may change', async () => {
		const { page, context } = await open(`/entries/${plain.entry}`, { change: (html) => html.replace('Copy link', 'Copy it') });
		await says(page, good);
		await context.close();
	});
	await step('a retired key stays a retired key, and its signature counts', async () => {
		const { page, context } = await open(`/entries/${retired.entry}`);
		await page.locator('.explain', { hasText: 'to the letter' }).waitFor();
		assert.equal((await says(page, 'Signed with a retired key')).tone, 'ink');
		await context.close();
		const changed = await open(`/entries/${retired.entry}`, { change: (html) => html.replace('First light.', 'Last light.') });
		await says(changed.page, bad);
		await changed.context.close();
	});
	await step('without scripts it is the server\u2019s word', async () => {
		const { page, context } = await open(`/entries/${plain.entry}`, { javaScriptEnabled: false });
		await says(page, 'Signature checked at publication');
		for (const name of ['Check again', 'Copy link', 'Switch colour theme']) {
			assert.equal(await page.getByRole('button', { name }).count(), 0, `${name} cannot work without scripts`);
		}
		assert.equal(await page.getByRole('link', { name: 'Download proof' }).getAttribute('href'), `/entries/${plain.entry}/proof.json`);
		await context.close();
	});
	await step('a browser that knows no such signatures says so', async () => {
		const prepare = (page) => page.addInitScript(() => {
			crypto.subtle.importKey = () => Promise.reject(new DOMException('unknown', 'NotSupportedError'));
		});
		const { page, context } = await open(`/entries/${plain.entry}`, { prepare });
		await page.locator('.explain', { hasText: 'cannot check' }).waitFor();
		assert.equal((await says(page, 'Signature checked at publication')).tone, 'seal');
		await context.close();
	});
	await step('the theme is the reader\u2019s and is remembered', async () => {
		const { page, faults, context } = await open(`/entries/${plain.entry}`, { colorScheme: 'light' });
		const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
		assert.equal(await ground(), 'rgb(248, 248, 245)');
		await page.getByRole('button', { name: 'Switch colour theme' }).click();
		assert.equal(await ground(), 'rgb(17, 20, 27)');
		await page.goto(url + '/ru');
		assert.equal(await ground(), 'rgb(17, 20, 27)');
		await page.getByRole('button', { name: 'Сменить тему оформления' }).click();
		assert.equal(await ground(), 'rgb(248, 248, 245)');
		assert.deepEqual(faults, []);
		await context.close();
	});
	await step('the link is copied', async () => {
		const { page, faults, context } = await open(`/entries/${plain.entry}`, { permissions: ['clipboard-read', 'clipboard-write'] });
		await page.getByRole('button', { name: 'Copy link' }).click();
		await page.getByRole('button', { name: 'Copied' }).waitFor();
		assert.equal(await page.evaluate(() => navigator.clipboard.readText()), `${url}/entries/${plain.entry}`);
		assert.deepEqual(faults, []);
		await context.close();
	});
} finally {
	await browser.close();
}
