// A call that lasts, through the clients of both generations. The tool ends
// only when another call lets it go, and that call is made by the progress of
// the first: progress that came late would never come.
import assert from 'node:assert/strict';
import * as legacy from '@modelcontextprotocol/sdk/client/index.js';
import * as legacyHTTP from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as modern from '@modelcontextprotocol/client';
import { input, step } from './common.mjs';

const { url } = await input();
const endpoint = new URL(`${url}/mcp`);
const self = { name: 'innerloop-e2e', version: '1.0.0' };

async function story(name, client, call) {
	await step(`${name}: hears three steps, then the result`, async () => {
		const heard = [];
		const result = await call('test_tool_with_progress', { onprogress: (one) => heard.push(one) });
		assert.deepEqual(result.structuredContent, { steps: 3 });
		assert.deepEqual(heard.map((one) => one.message), ['first step', 'second step', 'third step']);
		for (let i = 1; i < heard.length; i++) assert.ok(heard[i].progress > heard[i - 1].progress, JSON.stringify(heard));
	});
	await step(`${name}: hears of a call while it runs`, async () => {
		let letGo;
		const result = await call('test_wait', {
			onprogress: (one) => {
				if (one.message === 'begun') letGo = call('test_let_go', {});
			},
		});
		assert.deepEqual(result.structuredContent, { let_go: true });
		assert.deepEqual((await letGo).structuredContent, {});
	});
	await step(`${name}: is told nothing that was not asked for`, async () => {
		assert.deepEqual((await call('test_tool_with_progress', {})).structuredContent, { steps: 3 });
	});
	await client.close();
}

const old = new legacy.Client(self);
await old.connect(new legacyHTTP.StreamableHTTPClientTransport(endpoint));
await story('2025-11-25', old, (name, options) => old.callTool({ name, arguments: {} }, undefined, options));

const young = new modern.Client(self, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
await young.connect(new modern.StreamableHTTPClientTransport(endpoint));
await story('2026-07-28', young, (name, options) => young.callTool({ name, arguments: {} }, options));
