// Variables of named sessions, through the clients of both generations. Each
// generation has sessions of its own; after a restart (again) they are lost.
import assert from 'node:assert/strict';
import * as legacy from '@modelcontextprotocol/sdk/client/index.js';
import * as legacyHTTP from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as modern from '@modelcontextprotocol/client';
import { input, step } from './common.mjs';

const { url, key, again } = await input();
const endpoint = new URL(`${url}/mcp`);
const self = { name: 'innerloop-e2e', version: '1.0.0' };
const options = { requestInit: { headers: { Authorization: `Bearer ${key}` } } };

async function story(name, client) {
	const session = name.replaceAll('-', '_');
	const run = async (code, more = {}) => {
		const result = await client.callTool({ name: 'repl_execute', arguments: { code, session, ...more } });
		const said = JSON.parse(result.content[0].text);
		return result.isError ? { code: said.code, ...said.details } : said;
	};
	const states = (said) => [said.result ?? null, said.state, said.state_reason ?? null];
	if (again) {
		await step(`${name}: hears that the server was restarted`, async () => {
			assert.deepEqual(states(await run("'x' in globals()")), ['False', 'lost', 'server restarted']);
			assert.deepEqual(states(await run('1')), ['1', 'kept', null]);
		});
		return;
	}
	await step(`${name}: is told of sessions`, async () => {
		const tool = (await client.listTools()).tools.find((one) => one.name === 'repl_execute');
		assert.match(tool.description, /state says what holds/);
		assert.match(tool.inputSchema.properties.session.description, /At most 2 live at a time; one ends after 10 idle minutes, 60 minutes in all/);
	});
	await step(`${name}: variables survive between calls`, async () => {
		const first = await run('x = 41');
		assert.deepEqual(states(first), [null, 'fresh', null]);
		assert.ok(new Date(first.session_ends_at) > new Date(), first.session_ends_at);
		assert.deepEqual(states(await run('x += 1\nx')), ['42', 'kept', null]);
		const failed = await run('x / 0');
		assert.equal(failed.exit_code, 1);
		assert.deepEqual(states(await run('x')), ['42', 'kept', null]);
		const plain = await client.callTool({ name: 'repl_execute', arguments: { code: "'x' in globals()" } });
		assert.deepEqual(states(JSON.parse(plain.content[0].text)), ['False', 'fresh', null]);
	});
	await step(`${name}: reset, a timeout and an exit lose them, and say so`, async () => {
		assert.deepEqual(states(await run("'x' in globals()", { reset: true })), ['False', 'lost', 'reset']);
		const late = await run('import time\ntime.sleep(60)', { timeout_seconds: 1 });
		assert.equal(late.code, 'SANDBOX_TIMEOUT');
		assert.deepEqual(states(late), [null, 'lost', 'timeout']);
		assert.equal(late.session_ends_at, undefined);
		assert.deepEqual(states(await run('x = 2')), [null, 'lost', 'timeout']);
		assert.deepEqual(states(await run('import os\nos._exit(3)')), [null, 'lost', 'exited']);
		assert.deepEqual(states(await run('x = 3')), [null, 'lost', 'exited']);
		assert.deepEqual(states(await run('x')), ['3', 'kept', null]);
	});
}

const old = new legacy.Client(self);
await old.connect(new legacyHTTP.StreamableHTTPClientTransport(endpoint, options));
await story('2025-11-25', old);
await old.close();

const recent = new modern.Client(self, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
await recent.connect(new modern.StreamableHTTPClientTransport(endpoint, options));
await story('2026-07-28', recent);
await recent.close();
