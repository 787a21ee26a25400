// The story through the client that speaks 2026-07-28, pinned to it; then the
// same client finds the revision out for itself.
import assert from 'node:assert/strict';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { input, step } from './common.mjs';
import { tell } from './mcp-story.mjs';

const { url } = await input();
const revision = '2026-07-28';

async function connect(mode) {
	const client = new Client({ name: 'innerloop-e2e', version: '1.0.0' }, { versionNegotiation: { mode } });
	await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)));
	return client;
}

const client = await step('connects, pinned', () => connect({ pin: revision }));
await tell(
	{
		version: () => client.getNegotiatedProtocolVersion(),
		tools: async () => (await client.listTools()).tools,
		raw: (name, args) => client.callTool({ name, arguments: args }),
		resources: async () => (await client.listResources()).resources,
		read: async (uri) => (await client.readResource({ uri })).contents,
	},
	{ url, revision },
);
await client.close();

await step('negotiates the newest revision by itself', async () => {
	const auto = await connect('auto');
	assert.equal(auto.getNegotiatedProtocolVersion(), revision);
	assert.equal((await auto.listTools()).tools.length, 5);
	await auto.close();
});
