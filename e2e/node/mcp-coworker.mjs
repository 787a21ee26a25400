// What an assistant does with a key, in order: which services are there, what
// one of them can do, a call, code that works with it, and the memory on the
// side. Told by the clients of both generations.
// Input: {url, key, upstream, secret, lent}: lent tells whether code gets the
// credential, or only the broker.
import assert from 'node:assert/strict';
import * as legacy from '@modelcontextprotocol/sdk/client/index.js';
import * as legacyHTTP from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as modern from '@modelcontextprotocol/client';
import { input, step } from './common.mjs';

const { url, key, upstream, secret, lent } = await input();
const endpoint = new URL(`${url}/mcp`);
const options = { requestInit: { headers: { Authorization: `Bearer ${key}` } } };
const self = { name: 'innerloop-e2e', version: '1.0.0' };
const generations = {
	'2025-11-25': () => [new legacy.Client(self), new legacyHTTP.StreamableHTTPClientTransport(endpoint, options)],
	'2026-07-28': () => [
		new modern.Client(self, { versionNegotiation: { mode: { pin: '2026-07-28' } } }),
		new modern.StreamableHTTPClientTransport(endpoint, options),
	],
};

// Each byte turned, so that nothing of it is masked on the way back.
const environment = 'import json, os\nbytes(b ^ 255 for b in open("/proc/self/environ", "rb").read() + json.dumps(dict(os.environ)).encode()).hex()';

const direct = `
import os, json, urllib.request
request = urllib.request.Request(os.environ['WILDBERRIES_BASE_URL'] + '/api/v3/warehouses', headers={'Authorization': os.environ['WILDBERRIES_API_KEY']})
warehouses = json.load(urllib.request.urlopen(request))
print('used', os.environ['WILDBERRIES_API_KEY'])`;
const brokered = `
import coworker
warehouses = coworker.call('wildberries', 'GET', '/api/v3/warehouses', module='marketplace')['data']`;
const chart = '89504e470d0a1a0a' + '00'.repeat(8);
const work = `
import sys
sys.path.insert(0, '/mnt/skills/month-end/scripts')
import total
text = total.table(warehouses, '/mnt/memory/lists/prices.csv')
open('totals.csv', 'w').write(text)
open('chart.png', 'wb').write(bytes.fromhex('${chart}'))
text`;

for (const [generation, make] of Object.entries(generations)) {
	const [client, transport] = make();
	await client.connect(transport);
	const call = async (name, args) => {
		const result = await client.callTool({ name, arguments: args });
		assert.equal(result.isError ?? false, false, result.content[0].text);
		return result.content;
	};
	const asked = async (name, args) => JSON.parse((await call(name, args))[0].text);
	const says = (what) => `${generation}, ${lent ? 'credential lent' : 'broker alone'}: ${what}`;

	await step(says('the service is listed and described, with its skill'), async () => {
		const [{ text }] = await call('list_services', { query: 'wildberries' });
		assert.match(text, /^wildberries/m);
		const passport = await asked('describe_service', { service: 'wildberries' });
		assert.ok(passport.modules.some((module) => module.id === 'marketplace' || module.name === 'marketplace'), JSON.stringify(passport.modules).slice(0, 300));
		assert.deepEqual(passport.skills.map((skill) => skill.uri), ['skill://month-end/SKILL.md']);
	});
	await step(says('it is called'), async () => {
		const answer = await asked('connector_execute', { service: 'wildberries', module: 'marketplace', method: 'GET', path: '/api/v3/warehouses' });
		assert.deepEqual(answer.data, [{ id: 7, name: 'North' }, { id: 8, name: 'South' }]);
	});
	await step(says('code works with it, a script of the skill and the memory'), async () => {
		const content = await call('repl_execute', {
			code: (lent ? direct : brokered) + work, services: ['wildberries'], skills: ['month-end'], return_files: ['totals.csv'],
		});
		assert.ok(!JSON.stringify(content).includes(secret), 'the credential came back');
		const answer = JSON.parse(content[0].text);
		assert.equal(answer.exit_code, 0, answer.stderr);
		assert.equal(answer.result, "'North,70\\nSouth,88\\n'");
		assert.equal(answer.state, 'fresh');
		if (lent) assert.match(answer.stdout, /^used \S+\n$/);
		const { resource } = content.find((item) => item.type === 'resource');
		assert.deepEqual({ ...resource }, { uri: 'file:///home/user/totals.csv', mimeType: 'text/csv', text: 'North,70\nSouth,88\n' });
		const image = content.find((item) => item.type === 'image');
		assert.equal(image.mimeType, 'image/png');
		assert.equal(Buffer.from(image.data, 'base64').toString('hex'), chart);
	});
	await step(says(`the credential is ${lent ? '' : 'not '}in the sandbox`), async () => {
		const { result } = await asked('repl_execute', { code: environment, services: ['wildberries'] });
		const variables = Buffer.from(Buffer.from(result.replaceAll("'", ''), 'hex').map((byte) => byte ^ 255)).toString();
		assert.match(variables, /HOME=\/home\/user/);
		assert.equal(variables.includes(secret), lent);
		assert.equal(variables.includes('WILDBERRIES'), lent);
	});
	await step(says(`its host is ${lent ? '' : 'not '}open to code`), async () => {
		const code = `import urllib.request\ntry: urllib.request.urlopen('${upstream}/')\nexcept urllib.error.HTTPError as e: print(e.code)`;
		const { stdout } = await asked('repl_execute', { code, services: ['wildberries'] });
		assert.equal(stdout, lent ? '401\n' : '403\n'); // the service's own refusal, or the proxy's
	});
	await step(says('the memory is what code saw'), async () => {
		const file = await asked('read_memory', { mode: 'read', path: 'lists/prices.csv' });
		assert.equal(file.content, '7,70\n8,88\n');
	});
	await client.close();
}
