// What callers with and without a key see, through the clients of both
// generations. Every row is {name, key, status, reason, tools, denied}.
import assert from 'node:assert/strict';
import * as legacy from '@modelcontextprotocol/sdk/client/index.js';
import * as legacyHTTP from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as modern from '@modelcontextprotocol/client';
import { input, step } from './common.mjs';

const { url, rows } = await input();
const endpoint = new URL(`${url}/mcp`);
const self = { name: 'innerloop-e2e', version: '1.0.0' };
const names = ['list_services', 'describe_service', 'connector_execute', 'repl_execute', 'read_memory'];
const given = {
	describe_service: { service: 'github' },
	connector_execute: { service: 'github', method: 'GET', path: '/user' },
	repl_execute: { code: 'print("two")\n1 + 1' },
	read_memory: { mode: 'list' },
};

const generations = {
	'2025-11-25': (options) => [new legacy.Client(self), new legacyHTTP.StreamableHTTPClientTransport(endpoint, options)],
	'2026-07-28': (options) => [
		new modern.Client(self, { versionNegotiation: { mode: { pin: '2026-07-28' } } }),
		new modern.StreamableHTTPClientTransport(endpoint, options),
	],
};

for (const [generation, make] of Object.entries(generations)) {
	for (const row of rows) {
		const headers = row.key ? { Authorization: `Bearer ${row.key}` } : {};
		let seen;
		const [client, transport] = make({
			requestInit: { headers },
			fetch: async (...args) => {
				seen = await fetch(...args);
				return seen;
			},
		});
		if (row.status) {
			await step(`${generation}, ${row.name}: is refused as a whole`, async () => {
				await assert.rejects(() => client.connect(transport), (error) => error.code === 401 || error.message.includes('401'));
				assert.equal(seen.status, row.status);
				const raw = await fetch(endpoint, {
					method: 'POST',
					headers: { ...headers, 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' },
					body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
				});
				const body = await raw.json();
				assert.equal(raw.status, row.status);
				assert.equal(body.code, 'UNAUTHENTICATED');
				assert.equal(body.details.reason, row.reason);
				assert.equal(raw.headers.get('www-authenticate'), 'Bearer realm="innerloop", error="invalid_token"');
			});
			continue;
		}
		await step(`${generation}, ${row.name}: sees its tools`, async () => {
			await client.connect(transport);
			const tools = (await client.listTools()).tools.map((tool) => tool.name);
			assert.equal(tools.length, 5 + row.tools.length);
			assert.deepEqual(tools.slice(5), row.tools);
		});
		for (const name of names) {
			await step(`${generation}, ${row.name}: calls ${name}`, async () => {
				const result = await client.callTool({ name, arguments: given[name] ?? {} });
				assert.equal(result.content.length, 1);
				if (row.tools.includes(name) && name === 'repl_execute') {
					assert.ok(!result.isError, result.content[0].text);
					const ran = JSON.parse(result.content[0].text);
					assert.deepEqual([ran.stdout, ran.result, ran.exit_code, ran.state], ['two\n', '2', 0, 'fresh']);
					return;
				}
				if (row.tools.includes(name) && name !== 'connector_execute') {
					assert.ok(!result.isError, result.content[0].text);
					assert.ok(result.content[0].text.includes(name === 'read_memory' ? '"items":[]' : 'github'));
					return;
				}
				assert.equal(result.isError, true);
				assert.equal(result.structuredContent, undefined);
				const fault = JSON.parse(result.content[0].text);
				assert.equal(typeof fault.retryable, 'boolean');
				if (!row.key) {
					assert.equal(fault.code, 'UNAUTHENTICATED');
					assert.equal(fault.details.reason, 'missing');
					assert.ok(fault.hint.includes(`${url}/api/v1/mcp/info`));
				} else if (row.denied.includes(name)) {
					assert.equal(fault.code, 'PERMISSION_DENIED');
				} else {
					assert.ok(['NOT_CONNECTED', 'SANDBOX_UNAVAILABLE'].includes(fault.code), fault.code);
				}
			});
		}
		await client.close();
	}
}
