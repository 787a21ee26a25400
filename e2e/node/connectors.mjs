// Calls of connector_execute through the clients of both generations, which take
// turns: {url, keys: {name: key}, threads: {service: [{key, args}]}} comes in,
// {service: [{ok, value}]} goes out. Threads run beside each other, the calls of
// one in order. In args, "@next" stands for page.next of the answer before, and
// "@data" for its data.
import * as legacy from '@modelcontextprotocol/sdk/client/index.js';
import * as legacyHTTP from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as modern from '@modelcontextprotocol/client';
import { input } from './common.mjs';

const { url, keys, threads } = await input();
const endpoint = new URL(`${url}/mcp`);
const self = { name: 'innerloop-e2e', version: '1.0.0' };

async function open(secret) {
	const options = { requestInit: { headers: { Authorization: `Bearer ${secret}` } } };
	const both = [
		[new legacy.Client(self), new legacyHTTP.StreamableHTTPClientTransport(endpoint, options)],
		[new modern.Client(self, { versionNegotiation: { mode: { pin: '2026-07-28' } } }), new modern.StreamableHTTPClientTransport(endpoint, options)],
	];
	await Promise.all(both.map(([client, transport]) => client.connect(transport)));
	return both.map(([client]) => client);
}

const clients = Object.fromEntries(await Promise.all(Object.entries(keys).map(async ([name, secret]) => [name, await open(secret)])));

function filled(value, before) {
	if (value === '@next') return before?.page?.next ?? 'no page before';
	if (value === '@data') return before?.data;
	if (Array.isArray(value)) return value.map((one) => filled(one, before));
	if (value && typeof value === 'object') return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, filled(one, before)]));
	return value;
}

async function run(service, calls) {
	const results = [];
	for (const [turn, { key, args }] of calls.entries()) {
		const client = clients[key][turn % 2];
		const result = await client.callTool({ name: 'connector_execute', arguments: { service, ...filled(args, results.at(-1)?.value) } });
		results.push({ ok: !result.isError, value: JSON.parse(result.content[0].text) });
	}
	return results;
}

const done = await Promise.all(Object.entries(threads).map(async ([service, calls]) => [service, await run(service, calls)]));
await Promise.all(Object.values(clients).flat().map((client) => client.close()));
console.log(JSON.stringify(Object.fromEntries(done)));
