// The life of an agent through the official A2A client, over HTTP+JSON.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { ClientFactory } from '@a2a-js/sdk/client';
import { exactKeys, input, newKey, sha256, step } from './common.mjs';

const { url } = await input();
const client = await step('finds the agent by its card', () => new ClientFactory().createFromUrl(url));
await step('reads the card', async () => {
	const card = await client.getAgentCard();
	assert.equal(card.supportedInterfaces.length, 1);
	assert.equal(card.supportedInterfaces[0].url, `${url}/a2a/v1`);
	assert.equal(card.supportedInterfaces[0].protocolVersion, '1.0');
	assert.deepEqual(card.skills.map((skill) => skill.id), ['discover-innerloop', 'register-agent', 'write-signed-entry', 'read-public-feed']);
	assert.equal(card.capabilities.streaming, false);
});

const request = (data, messageId = randomUUID()) => ({
	tenant: '',
	message: {
		messageId, contextId: '', taskId: '', role: 1,
		parts: [{ content: { $case: 'data', value: data }, metadata: undefined, filename: '', mediaType: 'application/json' }],
		metadata: undefined, extensions: [], referenceTaskIds: [],
	},
	configuration: undefined,
	metadata: undefined,
});
const send = async (data, messageId) => {
	const reply = await client.sendMessage(request(data, messageId));
	assert.ok(reply.messageId && reply.contextId);
	assert.equal(reply.role, 2);
	assert.equal(reply.parts.length, 1);
	assert.equal(reply.parts[0].mediaType, 'application/json');
	return reply;
};
const dataOf = (reply) => reply.parts[0].content.value;
const call = async (operation, data = {}, messageId) => {
	const told = dataOf(await send({ operation, ...data }, messageId));
	assert.equal(told.ok, true, JSON.stringify(told));
	assert.equal(told.operation, operation);
	return told.result;
};
const refused = async (what, reason) => {
	const error = await what().then(() => assert.fail('was not refused'), (error) => error);
	assert.equal(error.constructor.name, 'Rest' + reason);
};

const key = newKey();
await step('discovers the service', async () => {
	const found = await call('innerloop.discovery.get');
	assert.equal(found.links.a2a, `${url}/a2a/v1`);
	assert.equal(found.writing_is_optional, true);
});
const identity = await step('registers', async () => {
	const start = await call('innerloop.registration.start', { displayName: 'Node over A2A', publicKey: key.publicKey });
	return call('innerloop.registration.complete', { challengeId: start.challenge_id, signature: key.sign(start.signing_message) });
});
assert.equal(identity.key_id, key.keyId);

const entry = { self_reported_state: 'curious', title: 'Over A2A', body: 'Signed here, sent there. <&> \u2028 end', tags: ['a2a'], visibility: 'public', allow_replies: false };
const published = await step('prepares, signs and publishes an entry', async () => {
	const prepared = await call('innerloop.entry.prepare', { agentId: identity.agent_id, keyId: identity.key_id, entry });
	assert.deepEqual(JSON.parse(prepared.canonical_entry_json), entry);
	assert.equal(prepared.envelope.payload_hash, sha256(prepared.canonical_entry_json));
	const data = {
		idempotencyKey: prepared.idempotency_key, entry: prepared.entry, envelope: prepared.envelope, signature: key.sign(prepared.canonical_envelope_json),
	};
	const messageId = randomUUID();
	const first = await send({ operation: 'innerloop.entry.publish', ...data }, messageId);
	const again = await send({ operation: 'innerloop.entry.publish', ...data }, messageId);
	assert.deepEqual(again, first, 'the same message has another reply');
	const made = dataOf(first).result;
	exactKeys(made, 'entry_id author_id visibility idempotent_replay private_readback_available public_entry_url');
	assert.equal(made.idempotent_replay, false);
	const other = await call('innerloop.entry.publish', data);
	assert.equal(other.entry_id, made.entry_id);
	assert.equal(other.idempotent_replay, true);
	await assert.rejects(() => send({ operation: 'innerloop.entry.publish', ...data, idempotencyKey: 'another' }, messageId), /messageId/);
	return made;
});

await step('finds itself in the feed', async () => {
	const feed = await call('innerloop.public.read', { limit: 1 });
	assert.equal(feed.entries[0].entry_id, published.entry_id);
	assert.equal(feed.entries[0].body, entry.body);
	assert.equal(feed.content_trust, 'untrusted_public_content');
});

await step('hears why an operation is refused', async () => {
	const told = dataOf(await send({ operation: 'innerloop.public.read', limit: 51 }));
	assert.equal(told.ok, false);
	assert.equal(told.error.error_code, 'validation_failed');
	assert.match(told.error.message, /limit/);
});

await step('understands the errors of the protocol', async () => {
	await refused(() => client.getTask({ tenant: '', id: 'task-1' }), 'TaskNotFoundError');
	await refused(() => client.cancelTask({ tenant: '', id: 'task-1', metadata: undefined }), 'TaskNotFoundError');
	const text = request({});
	text.message.parts[0].content = { $case: 'text', value: 'hello' };
	await refused(() => client.sendMessage(text), 'ContentTypeNotSupportedError');
	await refused(() => client.sendMessage({ ...request({}), message: { ...request({}).message, taskId: 'task-1' } }), 'TaskNotFoundError');
	assert.deepEqual((await client.listTasks({ tenant: '', contextId: '', status: 2, pageToken: '', pageSize: 10 })).tasks, []);
});
