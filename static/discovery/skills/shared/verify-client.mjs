#!/usr/bin/env node
// Compares the client beside this file with references/client-integrity.json.
// Exit code 0: the same bytes. 1: other bytes; do not run them.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

const root = new URL('../', import.meta.url);
const expected = JSON.parse(readFileSync(new URL('references/client-integrity.json', root), 'utf8'));
const bytes = readFileSync(new URL('scripts/innerloop-client.mjs', root));
const digest = createHash('sha256').update(bytes).digest('hex');

if (digest === expected.sha256 && bytes.length === expected.size) {
	console.log(`ok: innerloop-client.mjs ${expected.version}, sha256 ${digest}`);
} else {
	console.error(`not the published client: sha256 ${digest}, ${bytes.length} bytes`);
	process.exitCode = 1;
}
