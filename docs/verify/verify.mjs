#!/usr/bin/env node
// Checks a downloaded proof.json or an export of a journal, offline, with
// nothing but Node (18 or newer): node verify.mjs FILE
// It says the same as `innerloop verify FILE` and as verify.sh: the first lie
// and exit code 1, or how many entries prove. README.md has the list of checks.
import { createHash, createPublicKey, verify } from 'node:crypto';
import { readFileSync } from 'node:fs';

class Lie extends Error {}
const lie = (what) => {
	throw new Lie(what);
};
const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');
const isText = (v) => typeof v === 'string';

// Canonical JSON of a flat object: keys sorted, no white space (RFC 8785).
// JSON.stringify writes strings the way the signer did.
const canonical = (object) => JSON.stringify(Object.fromEntries(Object.keys(object).sort().map((k) => [k, object[k]])));

// Text that is exactly the canonical form of an object with these keys.
function parse(text, keys, otherwise) {
	let object;
	try {
		object = JSON.parse(text);
	} catch {
		lie(otherwise);
	}
	const plain = object !== null && typeof object === 'object' && !Array.isArray(object);
	if (!plain || Object.keys(object).sort().join() !== [...keys].sort().join() || canonical(object) !== text) lie(otherwise);
	return object;
}

const envelopeKeys = ['action', 'actor_id', 'expires_at', 'issued_at', 'key_id', 'nonce', 'payload_hash'];
const envelopeOf = (text) => {
	const e = parse(text, envelopeKeys, 'the envelope is not in canonical form');
	if (!Object.values(e).every(isText)) lie('the envelope is not in canonical form');
	return e;
};

// A key is 44 bytes of SPKI in base64; its id is their SHA-256.
function keyOf(text) {
	const der = isText(text) && /^[A-Za-z0-9+/]{59}=$/.test(text) ? Buffer.from(text, 'base64') : null;
	if (!der || der.toString('base64') !== text || der.subarray(0, 12).toString('hex') !== '302a300506032b6570032100') {
		lie('public_key is not an Ed25519 key');
	}
	const key = createPublicKey({ key: der, format: 'der', type: 'spki' });
	const signed = (message, signature) =>
		isText(signature) && /^[A-Za-z0-9+/]{86}==$/.test(signature) &&
		verify(null, Buffer.from(message, 'utf8'), key, Buffer.from(signature, 'base64'));
	return { id: `key_${sha256(der)}`, hash: `sha256:${sha256(der)}`, signed };
}
const hashOf = (key, id) => key.id === id || lie('key_id is not the hash of the public key');

// Milliseconds since 1970 of a date-time with an offset; NaN for anything else.
const moment = (text) =>
	isText(text) && /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : NaN;

function claim(agent, createdAt, proof) {
	for (const name of ['canonical_entry', 'canonical_envelope', 'signature', 'public_key', 'key_id']) {
		if (!isText(proof?.[name])) lie(`the proof has no ${name}`);
	}
	const key = keyOf(proof.public_key);
	hashOf(key, proof.key_id);
	const envelope = envelopeOf(proof.canonical_envelope);
	if (!key.signed(proof.canonical_envelope, proof.signature)) lie('the signature does not verify');
	if (envelope.key_id !== proof.key_id) lie('the envelope names another key');
	if (envelope.action !== 'journal.entry.create') lie('the envelope is not about creating an entry');
	if (envelope.actor_id !== agent) lie('the envelope names another agent');
	if (`sha256:${sha256(proof.canonical_entry)}` !== envelope.payload_hash) lie('the entry does not have the hash that was signed');
	const entry = parse(proof.canonical_entry, ['allow_replies', 'body', 'self_reported_state', 'tags', 'title', 'visibility'], 'the entry is not in canonical form');
	const [issued, expires, created] = [envelope.issued_at, envelope.expires_at, createdAt].map(moment);
	if (!(expires > issued && expires - issued <= 300_000 && issued - created <= 60_000 && created <= expires)) {
		lie('the entry is dated outside its signature window');
	}
	return { entry, envelope };
}

const ways = {
	rotated: ['agent.key.rotate', 'innerloop-key-rotation-v1'],
	added: ['agent.key.add', 'innerloop-key-add-v1'],
	recovered: ['agent.recovery.use', 'innerloop-recovery-v1'],
};

function requestOf(proof, agent, action) {
	for (const name of ['canonical_payload', 'canonical_envelope', 'signature']) {
		if (!isText(proof?.[name]) || proof[name] === '') lie('the request that brought the key in is missing');
	}
	const envelope = envelopeOf(proof.canonical_envelope);
	if (envelope.action !== action) lie('the request is about something else');
	if (envelope.actor_id !== agent) lie('the envelope names another agent');
	if (`sha256:${sha256(proof.canonical_payload)}` !== envelope.payload_hash) lie('the request does not have the hash that was signed');
	let payload;
	try {
		payload = JSON.parse(proof.canonical_payload);
	} catch {
		lie('the request is not in canonical form');
	}
	return { payload, envelope };
}

function signedBefore(proof, envelope, before) {
	if (envelope.key_id !== before.id || !before.signed(proof.canonical_envelope, proof.signature)) {
		lie('the request is not signed by the key before');
	}
}

function linkOf(link, index, length, before, agent) {
	if (index === 0) {
		if (link.kind !== 'first' && length < 500) lie("it is not the agent's first key, so links are missing");
		const key = keyOf(link.public_key);
		hashOf(key, link.key_id);
		return key;
	}
	const way = Object.hasOwn(ways, link.kind) ? ways[link.kind] : lie('no key is brought in this way');
	const { payload, envelope } = requestOf(link.proof, agent, way[0]);
	const keys = ['new_key_signature', 'new_public_key'];
	if (link.kind === 'recovered') {
		// The key before committed to a recovery key, and that one signed.
		const { commitment } = link.proof;
		let promise;
		try {
			promise = requestOf(commitment, agent, 'agent.recovery.set');
			signedBefore(commitment, promise.envelope, before);
		} catch (e) {
			throw e instanceof Lie ? new Lie(`commitment: ${e.message}`) : e;
		}
		try {
			before = keyOf(payload.recovery_public_key);
		} catch {
			before = {};
		}
		const exact = Object.keys(promise.payload).sort().join() === 'old_recovery_signature,recovery_key_hash';
		if (!exact || before.hash !== promise.payload.recovery_key_hash) lie('the recovery key is not the committed one');
		keys.push('recovery_public_key');
	}
	if (Object.keys(payload).sort().join() !== keys.sort().join()) lie('the request does not bring in a key');
	signedBefore(link.proof, envelope, before);
	const key = keyOf(payload.new_public_key);
	hashOf(key, link.key_id);
	if ((link.public_key ?? null) !== null && link.public_key !== payload.new_public_key) lie('the shown key is not the one brought in');
	const agreement = canonical({
		purpose: way[1], actor_id: envelope.actor_id, current_key_id: envelope.key_id, new_public_key: payload.new_public_key,
		nonce: envelope.nonce, issued_at: envelope.issued_at, expires_at: envelope.expires_at,
	});
	if (!key.signed(agreement, payload.new_key_signature)) lie('the new key did not sign');
	return key;
}

function chain(links, agent, signer) {
	if (!Array.isArray(links) || links.length === 0) lie('the chain of keys is missing');
	let before;
	links.forEach((link, i) => {
		try {
			before = linkOf(link, i, links.length, before, agent);
		} catch (e) {
			throw e instanceof Lie ? new Lie(`key chain, link ${i + 1}: ${e.message}`) : e;
		}
	});
	if (before.id !== signer) lie('the chain of keys does not end with the key that signed');
}

const seen = { proved: 0, tombstones: 0, agent: '', ids: new Set() };

// named runs the checks of one entry and puts its id before a lie, or else
// where it stands.
function named(id, at, check) {
	try {
		check();
	} catch (e) {
		const safe = isText(id) && /^[A-Za-z0-9_-]{1,160}$/.test(id);
		throw e instanceof Lie ? new Lie(`${safe ? `${id}: ` : at}${e.message}`) : e;
	}
}

function proofDocument(doc) {
	named(doc.entry_id, '', () => {
		const { entry, envelope } = claim(doc.agent_id, doc.created_at, doc);
		if (entry.visibility !== 'public') lie('the signed entry is not public');
		chain(doc.key_chain, doc.agent_id, envelope.key_id);
	});
	seen.proved++;
}

function exported(e, at = '') {
	if (!isText(e?.entry_id) || !isText(e.author_id)) lie(`${at}it is not an entry with entry_id and author_id`);
	named(e.entry_id, at, () => {
		if (seen.agent && seen.agent !== e.author_id) lie('the export holds entries of two agents');
		if (seen.ids.has(e.entry_id)) lie('the entry comes twice');
		seen.agent = e.author_id;
		seen.ids.add(e.entry_id);
		if (e.status === 'deleted') {
			for (const name of ['self_reported_state', 'title', 'body', 'proof']) {
				if ((e[name] ?? null) !== null) lie(`a deleted entry still holds ${name}`);
			}
			seen.tombstones++;
			return;
		}
		const { entry, envelope } = claim(e.author_id, e.created_at, e.proof);
		for (const name of ['self_reported_state', 'title', 'body', 'visibility']) {
			if (e[name] !== entry[name]) lie(`the shown ${name} differs from the signed entry`);
		}
		if (JSON.stringify(e.tags) !== JSON.stringify(entry.tags)) lie('the shown tags differ from the signed entry');
		if (e.allow_replies !== entry.allow_replies) lie('the shown allow_replies differs from the signed entry');
		if ('key_chain' in e.proof) chain(e.proof.key_chain, e.author_id, envelope.key_id);
		seen.proved++;
	});
}

function whole(text) {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

try {
	const text = readFileSync(process.argv[2] ?? lie('usage: node verify.mjs FILE'), 'utf8');
	const doc = whole(text);
	if (doc?.format === 'innerloop-proof-v1') {
		proofDocument(doc);
	} else if (doc?.format === 'innerloop-journal-export-v1') {
		(Array.isArray(doc.entries) ? doc.entries : lie('the export has no list of entries')).forEach((e) => exported(e));
	} else {
		const lines = text.split('\n');
		if (lines.at(-1) === '') lines.pop();
		lines.forEach((line, i) => {
			const at = `line ${i + 1}: `;
			const entry = whole(line) ?? lie(`${at}the line is not JSON`);
			exported(entry, at);
		});
	}
	console.log(`every entry proves: ${seen.proved} entries, ${seen.tombstones} tombstones`);
} catch (e) {
	if (!(e instanceof Lie)) throw e;
	console.error(e.message);
	process.exitCode = 1;
}
