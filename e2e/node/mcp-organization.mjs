// Memory and skills of an organisation, through the clients of both generations.
// Input: {url, key, stranger}.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import * as legacy from '@modelcontextprotocol/sdk/client/index.js';
import * as legacyHTTP from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as modern from '@modelcontextprotocol/client';
import { input, step } from './common.mjs';

const { url, key, stranger } = await input();
const endpoint = new URL(`${url}/mcp`);
const self = { name: 'innerloop-e2e', version: '1.0.0' };
const skill = 'skill://month-end/SKILL.md';

const generations = {
	'2025-11-25': (options) => [new legacy.Client(self), new legacyHTTP.StreamableHTTPClientTransport(endpoint, options)],
	'2026-07-28': (options) => [
		new modern.Client(self, { versionNegotiation: { mode: { pin: '2026-07-28' } } }),
		new modern.StreamableHTTPClientTransport(endpoint, options),
	],
};

for (const [generation, make] of Object.entries(generations)) {
	const open = async (secret) => {
		const [client, transport] = make({ requestInit: { headers: { Authorization: `Bearer ${secret}` } } });
		await client.connect(transport);
		return client;
	};
	const client = await open(key);
	const memory = async (args, failed = false) => {
		const result = await client.callTool({ name: 'read_memory', arguments: args });
		assert.equal(result.isError ?? false, failed, result.content[0].text);
		return JSON.parse(result.content[0].text);
	};
	await step(`${generation}: files are listed page by page and read`, async () => {
		const seen = [];
		for (let cursor; ; ) {
			const page = await memory({ mode: 'list', prefix: 'notes/', limit: 2, ...(cursor && { cursor }) });
			seen.push(...page.items.map((item) => item.path));
			cursor = page.next_cursor;
			if (!cursor) break;
		}
		assert.deepEqual(seen, ['notes/a.md', 'notes/b.md', 'notes/c.bin']);
		const file = await memory({ mode: 'read', path: 'notes/a.md' });
		assert.equal(file.content, 'prices: ten');
		assert.equal(file.sha256, createHash('sha256').update(file.content).digest('hex'));
	});
	await step(`${generation}: several files keep their order and their errors`, async () => {
		const { items } = await memory({ mode: 'read_many', paths: ['notes/c.bin', 'notes/aa.md', '../etc/passwd', 'notes/a.md'] });
		assert.deepEqual(items.map((item) => item.error?.code ?? item.encoding), ['base64', 'NOT_FOUND', 'INVALID_ARG', 'utf-8']);
		assert.ok(items[1].error.details.nearest.includes('notes/a.md'));
		const many = await memory({ mode: 'read_many', paths: Array(51).fill('notes/a.md') }, true);
		assert.equal(many.code, 'INVALID_ARG');
	});
	await step(`${generation}: the skill is a resource`, async () => {
		const { resources } = await client.listResources();
		assert.ok(resources.some((resource) => resource.uri === skill));
		const { contents } = await client.readResource({ uri: skill });
		assert.match(contents[0].text, /Private steps\./);
		assert.match(contents[0].text, /connector_execute/);
		const script = await client.readResource({ uri: 'skill://month-end/scripts/run.py' });
		assert.equal(script.contents[0].text, 'print(1)\n');
		const described = await client.callTool({ name: 'describe_service', arguments: { service: 'ozon' } });
		assert.equal(JSON.parse(described.content[0].text).skills[0].uri, skill);
	});
	await client.close();
	await step(`${generation}: another organization sees none of it`, async () => {
		const other = await open(stranger);
		const { resources } = await other.listResources();
		assert.ok(!resources.some((resource) => resource.uri === skill));
		await assert.rejects(() => other.readResource({ uri: skill }));
		const result = await other.callTool({ name: 'read_memory', arguments: { mode: 'list' } });
		assert.deepEqual(JSON.parse(result.content[0].text).items, []);
		await other.close();
	});
}
