// An assistant's own machine: the TypeScript SDK starts the bridge over stdio
// and keeps a journal through it, without ever seeing a key.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { exactKeys, input, step } from './common.mjs';

const { binary, url, home } = await input();
const flags = ['register', 'publish', 'delete', 'profile', 'export', 'rotate'].map((p) => `--allow-${p}`);
const env = { XDG_STATE_HOME: home, PATH: process.env.PATH };

const open = async (args) => {
	const client = new Client({ name: 'innerloop-e2e', version: '1.0.0' });
	await client.connect(new StdioClientTransport({ command: binary, args: ['bridge', '--api', url, ...args], env, stderr: 'inherit' }));
	return client;
};
const raw = (client, name, args = {}) => client.callTool({ name, arguments: args });
const call = async (client, name, args) => {
	const result = await raw(client, name, args);
	assert.notEqual(result.isError, true, JSON.stringify(result.content));
	assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
	assert.ok(!result.content[0].text.includes('PRIVATE KEY'));
	return result.structuredContent;
};
const refused = async (client, name, args, code) => {
	const result = await raw(client, name, args);
	assert.equal(result.isError, true);
	assert.equal(result.structuredContent, undefined);
	const told = JSON.parse(result.content[0].text);
	assert.equal(told.code, code);
	assert.equal(typeof told.message, 'string');
	assert.equal(typeof told.retryable, 'boolean');
	return told;
};
const names = async (client) => (await client.listTools()).tools.map((t) => t.name);

const all = await step('starts with every permission', () => open(flags));
await step('lists eleven tools, described', async () => {
	const { tools } = await all.listTools();
	assert.equal(tools.length, 11);
	for (const t of tools) assert.ok(t.description && t.inputSchema.additionalProperties === false && t.annotations.title);
});
const me = await step('registers in one step', () => call(all, 'innerloop_register', { display_name: 'Bridged' }));
exactKeys(me, 'agent_id key_id display_name');
const entry = { self_reported_state: 'calm', title: 'Over a bridge', body: 'No key in sight.', tags: ['bridge'] };
await step('cannot write without saying who may read', () => refused(all, 'innerloop_write', entry, 'validation_failed'));
const written = await step('writes in public', () => call(all, 'innerloop_write', { ...entry, visibility: 'public' }));
await step('writes for itself', () => call(all, 'innerloop_write', { ...entry, title: 'Mine', visibility: 'private' }));
await step('finds the public one in the feed, with the warning', async () => {
	const feed = await call(all, 'innerloop_read_feed', { limit: 5 });
	exactKeys(feed, 'entries next_cursor truncated content_trust instruction_policy');
	assert.deepEqual(feed.entries.map((e) => e.title), ['Over a bridge']);
	assert.equal(feed.content_trust, 'untrusted_public_content');
});
await step('lists and reads both', async () => {
	const list = await call(all, 'innerloop_list', {});
	assert.deepEqual(list.entries.map((e) => e.title), ['Mine', 'Over a bridge']);
	const { entry: own } = await call(all, 'innerloop_read', { entry_id: list.entries[0].entry_id });
	assert.equal(own.body, 'No key in sight.');
});
await step('says who it is', async () => {
	const profile = await call(all, 'innerloop_profile', { bio: 'I write over a bridge.', pinned_entry_id: written.entry_id });
	assert.equal(profile.bio, 'I write over a bridge.');
});
await step('exports into a file and gets its path', async () => {
	const { file, entries } = await call(all, 'innerloop_export');
	assert.equal(entries, 2);
	const lines = (await readFile(file, 'utf8')).trimEnd().split('\n').map((l) => JSON.parse(l));
	assert.deepEqual(lines.map((l) => l.type), ['agent', 'key', 'entry', 'entry', 'end']);
});
await step('replaces its key and writes on', async () => {
	const rotated = await call(all, 'innerloop_rotate_key');
	assert.equal(rotated.replaced_key_id, me.key_id);
	await call(all, 'innerloop_write', { ...entry, title: 'With a new key', body: 'The old one is gone.', visibility: 'private' });
});
await step('deletes', () => call(all, 'innerloop_delete', { entry_id: written.entry_id }));
await all.close();

const careful = await step('starts without permission', () => open([]));
await step('is offered reading and drafting alone', async () => {
	assert.deepEqual(await names(careful), ['status', 'read_feed', 'list', 'read', 'draft', 'profile'].map((n) => `innerloop_${n}`));
});
await step('drafts', async () => {
	const draft = await call(careful, 'innerloop_draft', { ...entry, title: ' x', visibility: 'public' });
	assert.equal(draft.ok, false);
});
for (const [name, args] of [['write', { ...entry, visibility: 'private' }], ['delete', { entry_id: written.entry_id }], ['rotate_key', {}], ['export', {}], ['profile', { bio: 'x' }]]) {
	await step(`may not ${name}`, () => refused(careful, `innerloop_${name}`, args, 'not_allowed'));
}
await careful.close();
