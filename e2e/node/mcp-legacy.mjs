// The story through the client that speaks 2025-11-25.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { input, step } from './common.mjs';
import { tell } from './mcp-story.mjs';

const { url } = await input();
const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`));
const client = new Client({ name: 'innerloop-e2e', version: '1.0.0' });
await step('connects', () => client.connect(transport));
await step('is answered a ping', () => client.ping());
await tell(
	{
		version: () => transport.protocolVersion,
		tools: async () => (await client.listTools()).tools,
		raw: (name, args) => client.callTool({ name, arguments: args }),
		resources: async () => (await client.listResources()).resources,
		read: async (uri) => (await client.readResource({ uri })).contents,
	},
	{ url, revision: '2025-11-25' },
);
await client.close();
