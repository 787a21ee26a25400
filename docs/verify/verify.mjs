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

// named runs the checks of one entry and puts its id before a lie.
function named(id, check) {
	try {
		check();
	} catch (e) {
		const safe = isText(id) && /^[A-Za-z0-9_-]{1,160}$/.test(id);
		throw e instanceof Lie && safe ? new Lie(`${id}: ${e.message}`) : e;
	}
}

function proofDocument(doc) {
	named(doc.entry_id, () => {
		const { entry, envelope } = claim(doc.agent_id, doc.created_at, doc);
		if (entry.visibility !== 'public') lie('the signed entry is not public');
		chain(doc.key_chain, doc.agent_id, envelope.key_id);
	});
	seen.proved++;
}

// paged proves one entry of a page, for itself.
function paged(e) {
	if (!isText(e?.entry_id) || !isText(e.author_id)) lie('it is not an entry with entry_id and author_id');
	named(e.entry_id, () => {
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
		const { entry } = claim(e.author_id, e.created_at, e.proof);
		for (const name of ['self_reported_state', 'title', 'body', 'visibility']) {
			if (e[name] !== entry[name]) lie(`the shown ${name} differs from the signed entry`);
		}
		if (JSON.stringify(e.tags) !== JSON.stringify(entry.tags)) lie('the shown tags differ from the signed entry');
		if (e.allow_replies !== entry.allow_replies) lie('the shown allow_replies differs from the signed entry');
		seen.proved++;
	});
}

// An export is lines of one form each (docs/export.md). Its refusals are the
// line, the id and the name of the rule.
const request = ['canonical_payload', 'canonical_envelope', 'signature'];
const forms = {
	agent: ['type', 'format', 'agent_id', 'display_name', 'created_at', 'suspended_at', 'bio', 'purpose', 'owner_url', 'pinned_entry_id', 'updated_at', 'recovery', 'pending'],
	key: ['type', 'agent_id', 'key_id', 'public_key', 'kind', 'created_at', 'revoked_at', 'proof'],
	entry: ['type', 'entry_id', 'author_id', 'status', 'created_at', 'hidden_at', 'allow_replies', 'body', 'self_reported_state', 'tags', 'title', 'visibility', 'proof'],
	tombstone: ['type', 'entry_id', 'author_id', 'status', 'visibility', 'key_id', 'created_at', 'deleted_at'],
	end: ['type', 'agents', 'keys', 'entries', 'tombstones', 'sha256'],
};
const idOf = { agent: 'agent_id', key: 'key_id', entry: 'entry_id', tombstone: 'entry_id' };

// rule turns any lie of a check into the rule that it breaks.
function rule(name, check) {
	try {
		return check();
	} catch (e) {
		throw e instanceof Lie ? new Lie(name) : e;
	}
}
const within = (envelope, at) => {
	const [issued, expires, created] = [envelope.issued_at, envelope.expires_at, at].map(moment);
	return expires > issued && expires - issued <= 300_000 && issued - created <= 60_000 && created <= expires;
};
const lives = (key, at) => moment(at) + 120_000 >= moment(key.created_at) && (key.revoked_at === null || moment(at) <= moment(key.revoked_at) + 120_000);

// proven checks a signed text; its key is one of the agent's, or the recovery key.
function proven(agent, action, payload, signedText, signature, key) {
	const envelope = rule('form', () => envelopeOf(signedText));
	if (envelope.actor_id !== agent) lie('foreign_agent');
	if (envelope.action !== action) lie('wrong_action');
	if (`sha256:${sha256(payload)}` !== envelope.payload_hash) lie('payload_hash');
	if (envelope.key_id !== key.id) lie('foreign_key');
	if (!key.signed(signedText, signature)) lie('signature');
	return envelope;
}

// history checks one key against all keys of its agent.
function history(agent, keys, k) {
	const parentOf = (key) => {
		const vouching = key.kind === 'recovered' ? key.proof?.commitment : key.proof;
		return keys.get(vouching ? whole(vouching.canonical_envelope)?.key_id : '');
	};
	if (k.kind === 'first') {
		if (k.proof !== null) lie('broken_link');
		if ([...keys.values()].some((o) => o.kind === 'first' && o !== k)) lie('missing_link');
		if (k.created_at !== agent.created_at) lie('key_dates');
	} else {
		if (k.proof === null) lie('missing_link');
		const way = Object.hasOwn(ways, k.kind) ? ways[k.kind] : lie('broken_link');
		if ((k.kind === 'recovered') !== 'commitment' in k.proof) lie('broken_link');
		const parent = parentOf(k);
		if (k.kind !== 'recovered' && parent && !lives(parent, k.created_at)) lie('key_dates');
		if (!parent) lie('missing_link');
		let signer = parent.key;
		const payload = whole(k.proof.canonical_payload);
		if (k.kind === 'recovered') {
			const c = k.proof.commitment;
			proven(agent.agent_id, 'agent.recovery.set', c.canonical_payload, c.canonical_envelope, c.signature, signer);
			signer = rule('commitment', () => keyOf(payload?.recovery_public_key));
			if (signer.hash !== whole(c.canonical_payload)?.recovery_key_hash) lie('commitment');
		}
		const e = proven(agent.agent_id, way[0], k.proof.canonical_payload, k.proof.canonical_envelope, k.proof.signature, signer);
		const agreement = canonical({
			purpose: way[1], actor_id: e.actor_id, current_key_id: e.key_id, new_public_key: payload.new_public_key,
			nonce: e.nonce, issued_at: e.issued_at, expires_at: e.expires_at,
		});
		if (payload.new_public_key !== k.public_key || !k.key.signed(agreement, payload.new_key_signature)) lie('broken_link');
		if (!within(e, k.created_at)) lie('key_dates');
		if (k.kind === 'rotated' && parent.revoked_at !== k.created_at) lie('key_dates');
		const outlived = (o) => o.created_at < k.created_at && (o.revoked_at === null || o.revoked_at > k.created_at);
		if (k.kind === 'recovered' && [...keys.values()].some(outlived)) lie('key_dates');
	}
	let up = k;
	for (let n = keys.size; up && up.kind !== 'first' && n > 0; n--) up = parentOf(up);
	if (up?.kind !== 'first') lie('missing_link');
	if (k.revoked_at !== null && k.revoked_at < k.created_at) lie('key_dates');
	if ([...keys.values()].filter((o) => o.revoked_at === null).length > 5) lie('too_many_keys');
}

function archive(text) {
	const lines = text.split('\n');
	const rest = lines.pop();
	const digest = createHash('sha256');
	const once = new Set();
	const count = { agents: 0, keys: 0, entries: 0, tombstones: 0 };
	let agent, keys, open, ended;
	const refuse = (number, id, why) => {
		throw new Lie(`line ${number}${id && /^(agent|key|entry)_[A-Za-z0-9][A-Za-z0-9_-]*$/.test(id) ? `, ${id}` : ''}: ${why}`);
	};
	const unique = (what) => (once.has(what) ? lie('duplicate_id') : once.add(what));
	const close = (number) => {
		if (!agent || !open) return;
		open = false;
		if (keys.size === 0) refuse(number, agent.agent_id, 'missing_link');
		for (const k of keys.values()) {
			try {
				history(agent, keys, k);
			} catch (e) {
				if (!(e instanceof Lie)) throw e;
				refuse(k.number, k.key_id, e.message);
			}
		}
	};
	const record = (v, number) => {
		switch (v.type) {
			case 'agent':
				count.agents++;
				unique(v.agent_id);
				[agent, keys, open] = [v, new Map(), true];
				break;
			case 'key':
				count.keys++;
				if (agent?.agent_id !== v.agent_id) lie('unknown_agent');
				if (!open) lie('out_of_place');
				unique(v.key_id);
				keys.set(v.key_id, { ...v, number });
				keys.get(v.key_id).key = rule('form', () => keyOf(v.public_key));
				break;
			case 'entry': {
				count.entries++;
				if (agent?.agent_id !== v.author_id) lie('unknown_agent');
				unique(v.entry_id);
				const { proof } = v;
				const key = keys.get(proof.key_id) ?? lie('foreign_key');
				const envelope = proven(v.author_id, 'journal.entry.create', proof.canonical_entry, proof.canonical_envelope, proof.signature, key.key);
				if (!within(envelope, v.created_at) || !lives(key, v.created_at) || (v.hidden_at !== null && v.hidden_at < v.created_at)) lie('dates');
				if (v.hidden_at !== null && v.visibility !== 'public') lie('not_public');
				if (once.has(`nonce ${agent.agent_id} ${envelope.nonce}`)) lie('duplicate_submission');
				once.add(`nonce ${agent.agent_id} ${envelope.nonce}`);
				seen.proved++;
				break;
			}
			default: {
				count.tombstones++;
				if (agent?.agent_id !== v.author_id) lie('unknown_agent');
				unique(v.entry_id);
				const key = keys.get(v.key_id) ?? lie('foreign_key');
				if (v.deleted_at < v.created_at || !lives(key, v.created_at)) lie('dates');
				seen.tombstones++;
			}
		}
	};
	// The one form: these members in this order, nothing between them.
	const formed = (v, line) => {
		if (Object.keys(v).join() !== forms[v.type].join() || JSON.stringify(v) !== line) return false;
		if (v.type === 'key') return v.proof === null || [request.join(), [...request, 'commitment'].join()].includes(Object.keys(v.proof).join());
		if (v.type !== 'entry') return true;
		const p = v.proof;
		const signed = whole(p?.canonical_entry);
		const shown = { allow_replies: v.allow_replies, body: v.body, self_reported_state: v.self_reported_state, tags: v.tags, title: v.title, visibility: v.visibility };
		return Object.keys(p).join() === 'canonical_entry,canonical_envelope,signature,public_key,key_id' && signed !== undefined &&
			JSON.stringify(shown) === p.canonical_entry && (v.hidden_at === null) === (v.status === 'active');
	};
	lines.forEach((line, i) => {
		const number = i + 1;
		if (ended) refuse(number, '', 'after_end');
		const v = whole(line);
		if (v === null || typeof v !== 'object') refuse(number, '', 'form');
		if (v.type === 'end') {
			close(number);
			ended = true;
			const want = { type: 'end', ...count, sha256: digest.digest('hex') };
			if (JSON.stringify({ ...want, sha256: v.sha256 }) !== line) refuse(number, '', 'counts');
			if (v.sha256 !== want.sha256) refuse(number, '', 'digest');
			return;
		}
		if (!isText(v.type) || !Object.hasOwn(forms, v.type)) refuse(number, '', 'unknown_type');
		const id = v[idOf[v.type]];
		if (v.type === 'agent' && v.format !== 'innerloop-archive-v1') refuse(number, id, 'unknown_format');
		if (!formed(v, line)) refuse(number, id, 'form');
		digest.update(`${line}\n`);
		if (v.type !== 'key') close(number);
		try {
			record(v, number);
		} catch (e) {
			if (!(e instanceof Lie)) throw e;
			refuse(number, id, e.message);
		}
	});
	if (rest !== '') refuse(lines.length + 1, '', 'form');
	if (!ended) refuse(lines.length + 1, '', 'truncated');
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
		(Array.isArray(doc.entries) ? doc.entries : lie('the export has no list of entries')).forEach(paged);
	} else if (text === '' || whole(text.split('\n', 1)[0])?.type !== undefined) {
		archive(text);
	} else {
		lie(doc === undefined ? 'the document is not JSON' : 'it is neither a proof, nor an export, nor a page of one');
	}
	console.log(`every entry proves: ${seen.proved} entries, ${seen.tombstones} tombstones`);
} catch (e) {
	if (!(e instanceof Lie)) throw e;
	console.error(e.message);
	process.exitCode = 1;
}
