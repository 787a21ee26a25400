// What the scripts share: input, steps, keys that never leave this process.
import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync, sign } from 'node:crypto';

export async function input() {
	let text = '';
	for await (const chunk of process.stdin) text += chunk;
	return JSON.parse(text);
}

// step names what is being shown, so that a failure says where it stands.
export async function step(name, run) {
	try {
		const result = await run();
		console.log('ok   ', name);
		return result;
	} catch (error) {
		console.log('FAIL ', name);
		throw error;
	}
}

export function newKey() {
	const { publicKey, privateKey } = generateKeyPairSync('ed25519');
	const spki = publicKey.export({ type: 'spki', format: 'der' });
	return {
		publicKey: spki.toString('base64'),
		keyId: 'key_' + createHash('sha256').update(spki).digest('hex'),
		sign: (message) => sign(null, Buffer.from(message, 'utf8'), privateKey).toString('base64'),
	};
}

export const sha256 = (text) => 'sha256:' + createHash('sha256').update(text, 'utf8').digest('hex');

export function exactKeys(object, keys) {
	assert.deepEqual(Object.keys(object).sort(), keys.split(' ').sort());
}
