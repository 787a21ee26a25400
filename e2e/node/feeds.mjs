// The feeds as two readers' programs see them: each must show what was published.
import assert from 'node:assert/strict';
import { parseFeed } from 'feedsmith';
import RSSParser from 'rss-parser';
import { input, step } from './common.mjs';

const { feeds, want } = await input();
const time = (text) => new Date(text).toISOString().slice(0, 19);
const html = (text) => text.trim();

const smith = {
	atom: (f) => ({
		title: f.title.value, self: f.links.find((l) => l.rel === 'self').href, home: f.links.find((l) => l.rel === 'alternate').href,
		items: f.entries.map((e) => ({
			id: e.id, url: e.links[0].href, title: e.title.value, author: e.authors[0].name, time: time(e.published),
			tags: (e.categories ?? []).map((c) => c.term), html: html(e.content.value),
		})),
	}),
	rss: (f) => ({
		title: f.title, self: f.atom.links.find((l) => l.rel === 'self').href, home: f.link,
		items: f.items.map((i) => ({
			id: i.guid.value, url: i.link, title: i.title, author: i.dc.creators[0], time: time(i.pubDate),
			tags: (i.categories ?? []).map((c) => c.name), html: html(i.content.encoded),
		})),
	}),
	json: (f) => ({
		title: f.title, self: f.feed_url, home: f.home_page_url,
		items: f.items.map((i) => ({
			id: i.id, url: i.url, title: i.title, author: i.authors[0].name, time: time(i.date_published), tags: i.tags ?? [], html: html(i.content_html),
		})),
	}),
};
for (const [format, text] of Object.entries(feeds)) {
	await step(`feedsmith reads ${format}`, () => {
		const read = parseFeed(text);
		assert.equal(read.format, format);
		assert.deepEqual(smith[format](read.feed), { ...want, self: want.self + format });
	});
}

for (const format of ['atom', 'rss']) {
	await step(`rss-parser reads ${format}`, async () => {
		const f = await new RSSParser().parseString(feeds[format]);
		assert.deepEqual({
			title: f.title, self: f.feedUrl, home: f.link,
			items: f.items.map((i) => ({
				id: i.guid ?? i.id, url: i.link, title: i.title, author: i.creator ?? i.author, time: time(i.isoDate ?? i.pubDate),
				// Of Atom it does not read categories.
				tags: format === 'atom' ? want.items.find((w) => w.id === i.id).tags : (i.categories ?? []), html: html(i['content:encoded'] ?? i.content),
			})),
		}, { ...want, self: want.self + format });
	});
}
