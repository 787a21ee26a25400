#!/usr/bin/env bash
# Checks a downloaded proof.json or an export of a journal, offline, with
# openssl (3 or newer) and jq (1.6 or newer): verify.sh FILE
# It says the same as `innerloop verify FILE` and as verify.mjs: the first lie
# and exit code 1, or how many entries prove. README.md has the list of checks.
set -euo pipefail
export LC_ALL=C

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
where=''

lie() {
	printf '%s%s\n' "$where" "$1" >&2
	exit 1
}

# field FILE JQ: a text as its exact bytes; nothing when it is no text.
field() { jq -j "$2 | strings" "$1"; }

sha256() { openssl dgst -sha256 -r "$1" | cut -d' ' -f1; }

# canonical FILE KEYS: the text in FILE is the canonical JSON of an object with
# exactly these keys, given sorted. U+007F is left out of the comparison: jq
# escapes it and the signer does not.
canonical() {
	jq -e -R -s --argjson keys "$2" '
		def del: explode | map(select(. != 127)) | implode;
		. as $text | (try fromjson catch null) as $object
		| ($object | type) == "object" and ($object | keys_unsorted) == $keys
		and ($object | walk(if type == "string" then del else . end) | tojson) == ($text | del)' "$1" >/dev/null
}

envelope_keys='["action","actor_id","expires_at","issued_at","key_id","nonce","payload_hash"]'
entry_keys='["allow_replies","body","self_reported_state","tags","title","visibility"]'

# key TEXT NAME: leaves the key as $work/NAME.der and its hash in $hash.
key() {
	[[ $1 =~ ^[A-Za-z0-9+/]{59}=$ ]] || lie "$3public_key is not an Ed25519 key"
	printf %s "$1" | openssl base64 -d -A >"$work/$2.der"
	if [ "$(openssl base64 -A -in "$work/$2.der")" != "$1" ] ||
		[ "$(head -c 12 "$work/$2.der" | od -An -tx1 | tr -d ' \n')" != 302a300506032b6570032100 ]; then
		lie "$3public_key is not an Ed25519 key"
	fi
	hash=$(sha256 "$work/$2.der")
}

# signed NAME MESSAGE-FILE SIGNATURE: the key of that name signed the message.
signed() {
	[[ $3 =~ ^[A-Za-z0-9+/]{86}==$ ]] || return 1
	printf %s "$3" | openssl base64 -d -A >"$work/signature"
	openssl pkeyutl -verify -pubin -keyform DER -inkey "$work/$1.der" -rawin -in "$2" -sigfile "$work/signature" >/dev/null 2>&1
}

# claim FILE AT AGENT CREATED: the proof at AT in FILE. Leaves the canonical
# entry as $work/entry and the id of the key in $signer.
claim() {
	local file=$1 at=$2 agent=$3 created=$4 name
	for name in canonical_entry canonical_envelope signature public_key key_id; do
		jq -e "$at.$name? | type == \"string\"" "$file" >/dev/null || lie "the proof has no $name"
	done
	field "$file" "$at.canonical_entry" >"$work/entry"
	field "$file" "$at.canonical_envelope" >"$work/envelope"
	signer=$(field "$file" "$at.key_id")
	key "$(field "$file" "$at.public_key")" author ''
	[ "key_$hash" = "$signer" ] || lie 'key_id is not the hash of the public key'
	canonical "$work/envelope" "$envelope_keys" || lie 'the envelope is not in canonical form'
	signed author "$work/envelope" "$(field "$file" "$at.signature")" || lie 'the signature does not verify'
	[ "$(field "$work/envelope" .key_id)" = "$signer" ] || lie 'the envelope names another key'
	[ "$(field "$work/envelope" .action)" = journal.entry.create ] || lie 'the envelope is not about creating an entry'
	[ "$(field "$work/envelope" .actor_id)" = "$agent" ] || lie 'the envelope names another agent'
	[ "sha256:$(sha256 "$work/entry")" = "$(field "$work/envelope" .payload_hash)" ] || lie 'the entry does not have the hash that was signed'
	canonical "$work/entry" "$entry_keys" || lie 'the entry is not in canonical form'
	jq -e --arg created "$created" '
		def moment: capture("^(?<d>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2})(:(?<s>[0-9]{2})(?<f>\\.[0-9]+)?)?(?<z>Z|[+-][0-9]{2}:[0-9]{2})$")
			| ("\(.d):\(.s // "00")Z" | fromdateiso8601) + ("0\(.f // ".0")" | tonumber)
			- (if .z == "Z" then 0 else (.z | (.[1:3] | tonumber) * 3600 + (.[4:6] | tonumber) * 60) * (if .z[0:1] == "-" then -1 else 1 end) end);
		(.issued_at | moment) as $issued | (.expires_at | moment) as $expires | ($created | moment) as $at
		| $expires > $issued and $expires - $issued <= 300 and $issued - $at <= 60 and $at <= $expires' "$work/envelope" >/dev/null 2>&1 ||
		lie 'the entry is dated outside its signature window'
}

# request FILE AT AGENT ACTION PREFIX: a signed owner request. Leaves
# $work/payload and $work/request.
request() {
	local file=$1 at=$2 name
	for name in canonical_payload canonical_envelope signature; do
		[ -n "$(field "$file" "$at.$name?")" ] || lie "$5the request that brought the key in is missing"
	done
	field "$file" "$at.canonical_payload" >"$work/payload"
	field "$file" "$at.canonical_envelope" >"$work/request"
	canonical "$work/request" "$envelope_keys" || lie "$5the envelope is not in canonical form"
	[ "$(field "$work/request" .action)" = "$4" ] || lie "$5the request is about something else"
	[ "$(field "$work/request" .actor_id)" = "$3" ] || lie "$5the envelope names another agent"
	[ "sha256:$(sha256 "$work/payload")" = "$(field "$work/request" .payload_hash)" ] || lie "$5the request does not have the hash that was signed"
	jq -e 'type == "object"' "$work/payload" >/dev/null 2>&1 || lie "$5the request is not in canonical form"
}

# signed_before FILE AT KEY PREFIX: the key of that name signed $work/request.
signed_before() {
	[ "$(field "$work/request" .key_id)" = "key_$(sha256 "$work/$3.der")" ] &&
		signed "$3" "$work/request" "$(field "$1" "$2.signature")" || lie "$4the request is not signed by the key before"
}

# chain FILE AT AGENT: the keys from the agent's first to $signer.
chain() {
	local file=$1 at=$2 agent=$3 length i
	length=$(jq "$at | if type == \"array\" then length else 0 end" "$file")
	[ "$length" -gt 0 ] || lie 'the chain of keys is missing'
	for ((i = 0; i < length; i++)); do
		link "$file" "$at[$i]" "$agent" "$i" "$length" "key chain, link $((i + 1)): "
		mv "$work/new.der" "$work/before.der"
	done
	[ "key_$(sha256 "$work/before.der")" = "$signer" ] || lie 'the chain of keys does not end with the key that signed'
}

link() {
	local file=$1 at=$2 agent=$3 prefix=$6 kind id action purpose keys signer_key=before offered
	kind=$(field "$file" "$at.kind")
	id=$(field "$file" "$at.key_id")
	if [ "$4" -eq 0 ]; then
		[ "$kind" = first ] || [ "$5" -ge 500 ] || lie "${prefix}it is not the agent's first key, so links are missing"
		key "$(field "$file" "$at.public_key")" new "$prefix"
		[ "key_$hash" = "$id" ] || lie "${prefix}key_id is not the hash of the public key"
		return
	fi
	keys='["new_key_signature","new_public_key"]'
	case $kind in
	rotated) action=agent.key.rotate purpose=innerloop-key-rotation-v1 ;;
	added) action=agent.key.add purpose=innerloop-key-add-v1 ;;
	recovered) action=agent.recovery.use purpose=innerloop-recovery-v1 keys='["new_key_signature","new_public_key","recovery_public_key"]' ;;
	*) lie "${prefix}no key is brought in this way" ;;
	esac
	request "$file" "$at.proof" "$agent" "$action" "$prefix"
	if [ "$kind" = recovered ]; then
		# The key before committed to a recovery key, and that one signed.
		cp "$work/payload" "$work/use"
		request "$file" "$at.proof.commitment" "$agent" agent.recovery.set "${prefix}commitment: "
		signed_before "$file" "$at.proof.commitment" before "${prefix}commitment: "
		cp "$work/payload" "$work/promise"
		field "$work/use" .recovery_public_key | openssl base64 -d -A >"$work/recovery.der" 2>/dev/null || :
		jq -e --arg hash "sha256:$(sha256 "$work/recovery.der")" \
			'keys == ["old_recovery_signature","recovery_key_hash"] and .recovery_key_hash == $hash' "$work/promise" >/dev/null ||
			lie "${prefix}the recovery key is not the committed one"
		request "$file" "$at.proof" "$agent" "$action" "$prefix"
		signer_key=recovery
	fi
	jq -e --argjson keys "$keys" 'keys == $keys' "$work/payload" >/dev/null || lie "${prefix}the request does not bring in a key"
	signed_before "$file" "$at.proof" "$signer_key" "$prefix"
	offered=$(field "$work/payload" .new_public_key)
	key "$offered" new "$prefix"
	[ "key_$hash" = "$id" ] || lie "${prefix}key_id is not the hash of the public key"
	jq -e --arg offered "$offered" "$at.public_key | . == null or . == \$offered" "$file" >/dev/null || lie "${prefix}the shown key is not the one brought in"
	jq -j --arg purpose "$purpose" --arg offered "$offered" '{actor_id, current_key_id: .key_id, expires_at, issued_at,
		new_public_key: $offered, nonce, purpose: $purpose} | tojson' "$work/request" >"$work/agreement"
	signed new "$work/agreement" "$(field "$work/payload" .new_key_signature)" || lie "${prefix}the new key did not sign"
}

# named ID: what a lie is about, when the id looks like one.
named() { if [[ $1 =~ ^[A-Za-z0-9_-]{1,160}$ ]]; then where="$1: "; fi; }

proved=0 tombstones=0 agent='' ids=' '

# paged FILE: one entry of a page, for itself.
paged() {
	local file=$1 id author name
	jq -e '(.entry_id? | type == "string") and (.author_id? | type == "string")' "$file" >/dev/null 2>&1 || lie 'it is not an entry with entry_id and author_id'
	id=$(field "$file" .entry_id) author=$(field "$file" .author_id)
	named "$id"
	[ -z "$agent" ] || [ "$agent" = "$author" ] || lie 'the export holds entries of two agents'
	[[ $ids != *" $id "* ]] || lie 'the entry comes twice'
	agent=$author ids="$ids$id "
	if [ "$(field "$file" .status)" = deleted ]; then
		for name in self_reported_state title body proof; do
			jq -e ".$name == null" "$file" >/dev/null || lie "a deleted entry still holds $name"
		done
		tombstones=$((tombstones + 1))
	else
		claim "$file" .proof "$author" "$(field "$file" .created_at)"
		for name in self_reported_state title body visibility tags allow_replies; do
			jq -e --slurpfile signed "$work/entry" ".$name == \$signed[0].$name" "$file" >/dev/null && continue
			[ "$name" = tags ] && lie 'the shown tags differ from the signed entry'
			lie "the shown $name differs from the signed entry"
		done
		proved=$((proved + 1))
	fi
	where=''
}

# An export is lines of one form each (docs/export.md). jq reads them and says
# what to check, in order; openssl checks. A refusal is the line, the id and
# the name of the rule.
plan() {
	jq -R -n -r --argjson rest "$1" '
	def del: explode | map(select(. != 127)) | implode;
	def plain: walk(if type == "string" then del else . end) | tojson;
	def parsed: try fromjson catch null;
	def isform($names): type == "object" and keys_unsorted == $names;
	def named: if type == "string" and test("^(agent|key|entry)_[A-Za-z0-9][A-Za-z0-9_-]*$") then ", " + . else "" end;
	def at($n; $id): "line \($n)\($id | named)";
	def no($why): [["refuse", $why]];
	def need($ok; $why): if $ok then [] else no($why) end;
	def moment: capture("^(?<d>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2})(:(?<s>[0-9]{2})(?<f>\\.[0-9]+)?)?(?<z>Z|[+-][0-9]{2}:[0-9]{2})$")
		| ("\(.d):\(.s // "00")Z" | fromdateiso8601) + ("0\(.f // ".0")" | tonumber)
		- (if .z == "Z" then 0 else (.z | (.[1:3] | tonumber) * 3600 + (.[4:6] | tonumber) * 60) * (if .z[0:1] == "-" then -1 else 1 end) end);
	def within($e; $at): try (($e.issued_at | moment) as $i | ($e.expires_at | moment) as $x | ($at | moment) as $t
		| $x > $i and $x - $i <= 300 and $i - $t <= 60 and $t <= $x) catch false;
	def lives($k; $at): try (($at | moment) as $t | $t + 120 >= ($k.created_at | moment)
		and ($k.revoked_at == null or $t <= ($k.revoked_at | moment) + 120)) catch false;
	def envelope: parsed as $e | if $e != null and ($e | isform(["action","actor_id","expires_at","issued_at","key_id","nonce","payload_hash"]))
		and ($e | plain) == del then $e else null end;
	def sig($rule; $key; $message; $signature):
		if ($signature | type == "string" and test("^[A-Za-z0-9+/]{86}==$")) then [["sig", $rule, $key, ($message | @base64), $signature]] else no($rule) end;
	# proven: a signed text, by the key with this text and (when known) id.
	def proven($agent; $action; $payload; $signed; $signature; $key; $id):
		($signed | envelope) as $e | if $e == null then no("form") else
			need($e.actor_id == $agent; "foreign_agent") + need($e.action == $action; "wrong_action")
			+ [["hash", "payload_hash", ($payload | @base64), ($e.payload_hash | ltrimstr("sha256:"))]]
			+ (if $id != null then need($e.key_id == $id; "foreign_key") else [["spki", "foreign_key", $key, ($e.key_id | ltrimstr("key_"))]] end)
			+ sig("signature"; $key; $signed; $signature) end;
	{rotated: ["agent.key.rotate", "innerloop-key-rotation-v1"], added: ["agent.key.add", "innerloop-key-add-v1"],
		recovered: ["agent.recovery.use", "innerloop-recovery-v1"]} as $ways
	| def vouching: if .kind == "recovered" then .proof.commitment? else .proof end | .canonical_envelope? // "" | parsed | .key_id? // "";
	def history($agent; $keys):
		. as $k | ($keys | map(select(.key_id == ($k | vouching))) | .[0]) as $parent
		| [["spki", "form", $k.public_key, ($k.key_id | ltrimstr("key_"))]]
		+ (if $k.kind == "first" then
			need($k.proof == null; "broken_link") + need([$keys[] | select(.kind == "first")] | length == 1; "missing_link")
			+ need($k.created_at == $agent.created_at; "key_dates")
		elif $k.proof == null then no("missing_link")
		elif $ways[$k.kind] == null or ($k.kind == "recovered") != ($k.proof | has("commitment")) then no("broken_link")
		elif $k.kind != "recovered" and $parent != null and (lives($parent; $k.created_at) | not) then no("key_dates")
		elif $parent == null then no("missing_link")
		else
			($k.proof.canonical_payload | parsed) as $p | ($k.proof.canonical_envelope | parsed) as $e
			| $ways[$k.kind] as $way | $k.proof.commitment as $c
			| (if $c == null then [] else
				proven($agent.agent_id; "agent.recovery.set"; $c.canonical_payload; $c.canonical_envelope; $c.signature; $parent.public_key; $parent.key_id)
				+ [["spki", "commitment", ($p.recovery_public_key? // ""), ($c.canonical_payload | parsed | .recovery_key_hash? // "" | ltrimstr("sha256:"))]] end)
			+ (if $c == null then proven($agent.agent_id; $way[0]; $k.proof.canonical_payload; $k.proof.canonical_envelope; $k.proof.signature; $parent.public_key; $parent.key_id)
				else proven($agent.agent_id; $way[0]; $k.proof.canonical_payload; $k.proof.canonical_envelope; $k.proof.signature; ($p.recovery_public_key? // ""); null) end)
			+ need($p.new_public_key? == $k.public_key; "broken_link")
			+ sig("broken_link"; $k.public_key; ({actor_id: $e.actor_id, current_key_id: $e.key_id, expires_at: $e.expires_at, issued_at: $e.issued_at,
				new_public_key: $p.new_public_key?, nonce: $e.nonce, purpose: $way[1]} | tojson); $p.new_key_signature?)
			+ need(within($e; $k.created_at); "key_dates")
			+ need($k.kind != "rotated" or $parent.revoked_at == $k.created_at; "key_dates")
			+ need($k.kind != "recovered" or ([$keys[] | select(.created_at < $k.created_at and (.revoked_at == null or .revoked_at > $k.created_at))] | length == 0); "key_dates")
		end)
		+ (reduce $keys[] as $_ ($k; if . == null or .kind == "first" then . else . as $now | ($keys | map(select(.key_id == ($now | vouching))) | .[0]) end)
			| need(. != null and .kind == "first"; "missing_link"))
		+ need($k.revoked_at == null or $k.revoked_at >= $k.created_at; "key_dates")
		+ need([$keys[] | select(.revoked_at == null)] | length <= 5; "too_many_keys");
	# close: the history of the keys, once all of them are there.
	def close: if .agent == null or (.open | not) then . else .open = false | . as $s
		| if .keys == [] then .ops += [[at(.n; .agent.agent_id), "refuse", "missing_link"]]
			else .ops += [.keys[] as $k | ($k | history($s.agent; $s.keys))[] | [at($k.number; $k.key_id)] + .] end end;
	def formed($line): . as $v | $v.type as $t | ($v | plain) == ($line | del) and
		(if $t == "agent" then isform(["type","format","agent_id","display_name","created_at","suspended_at","bio","purpose","owner_url","pinned_entry_id","updated_at","recovery","pending"])
		elif $t == "key" then isform(["type","agent_id","key_id","public_key","kind","created_at","revoked_at","proof"]) and
			(.proof == null or (.proof | isform(["canonical_payload","canonical_envelope","signature"]) or isform(["canonical_payload","canonical_envelope","signature","commitment"])))
		elif $t == "entry" then isform(["type","entry_id","author_id","status","created_at","hidden_at","allow_replies","body","self_reported_state","tags","title","visibility","proof"]) and
			(.proof | isform(["canonical_entry","canonical_envelope","signature","public_key","key_id"])) and
			({allow_replies, body, self_reported_state, tags, title, visibility} | plain) == (.proof.canonical_entry | del) and
			(.hidden_at == null) == (.status == "active")
		else isform(["type","entry_id","author_id","status","visibility","key_id","created_at","deleted_at"]) end);
	def unique($id): if .once[$id] then .more += no("duplicate_id") else .once[$id] = true end;
	def mine($author): .more += need(.agent != null and .agent.agent_id == $author; "unknown_agent");
	def record($v):
		if $v.type == "agent" then .count.agents += 1 | unique($v.agent_id) | .agent = $v | .keys = [] | .open = true
		elif $v.type == "key" then .count.keys += 1 | mine($v.agent_id) | .more += need(.open; "out_of_place") | unique($v.key_id) | .keys += [$v + {number: .n}]
		else
			(if $v.type == "entry" then "entries" else "tombstones" end) as $kind | .count[$kind] += 1 | mine($v.author_id) | unique($v.entry_id)
			| ($v.proof.key_id? // $v.key_id) as $id | ((.keys // []) | map(select(.key_id == $id)) | .[0]) as $k
			| if $k == null then .more += no("foreign_key")
			elif $kind == "tombstones" then .more += need($v.deleted_at >= $v.created_at and lives($k; $v.created_at); "dates")
			else $v.proof as $p | ($p.canonical_envelope | parsed) as $e
				| .more += proven($v.author_id; "journal.entry.create"; $p.canonical_entry; $p.canonical_envelope; $p.signature; $k.public_key; $k.key_id)
				+ need(within($e; $v.created_at) and lives($k; $v.created_at) and ($v.hidden_at == null or $v.hidden_at >= $v.created_at); "dates")
				+ need($v.hidden_at == null or $v.visibility == "public"; "not_public")
				+ need(.once["nonce \($e.nonce?)"] | not; "duplicate_submission") | .once["nonce \($e.nonce?)"] = true
			end
		end;
	reduce inputs as $line ({n: 0, ops: [], once: {}, count: {agents: 0, keys: 0, entries: 0, tombstones: 0}};
		.n += 1 | ($line | parsed) as $v | .more = []
		| if .ended then .ops += [[at(.n; null), "refuse", "after_end"]]
		elif ($v | type) != "object" then .ops += [[at(.n; null), "refuse", "form"]]
		elif $v.type == "end" then close | .ended = true
			| (if ({type: "end"} + .count + {sha256: $v.sha256} | tojson) == $line then .ops += [[at(.n; null), "digest", "digest", "\(.n - 1)", $v.sha256]]
				else .ops += [[at(.n; null), "refuse", "counts"]] end)
		elif ["agent", "key", "entry", "tombstone"] | index($v.type) | not then .ops += [[at(.n; null), "refuse", "unknown_type"]]
		else ({agent: $v.agent_id, key: $v.key_id}[$v.type] // $v.entry_id) as $id
			| if $v.type == "agent" and $v.format != "innerloop-archive-v1" then .ops += [[at(.n; $id), "refuse", "unknown_format"]]
			elif ($v | try formed($line) catch false) | not then .ops += [[at(.n; $id), "refuse", "form"]]
			else (if $v.type == "key" then . else close end) | record($v) | at(.n; $id) as $at | .ops += (.more | map([$at] + .)) end
		end)
	| (if $rest then .ops += [[at(.n + 1; null), "refuse", "form"]] elif .ended then . else .ops += [[at(.n + 1; null), "refuse", "truncated"]] end)
	| .ops[], ["", "seen", .count.entries, .count.tombstones] | map(tostring) | join("|")'
}

archive() {
	local file=$1 lines rest=false at op rule a b c
	lines=$(wc -l <"$file")
	[ -z "$(tail -c 1 "$file")" ] || rest=true
	head -n "$lines" "$file" >"$work/lines"
	plan "$rest" <"$work/lines" >"$work/plan"
	while IFS='|' read -r at op rule a b c; do
		where="$at: "
		case $op in
		refuse) lie "$rule" ;;
		seen) proved=$rule tombstones=$a ;;
		digest)
			head -n "$a" "$work/lines" >"$work/above"
			[ "$(sha256 "$work/above")" = "$b" ] || lie "$rule"
			;;
		hash)
			printf %s "$a" | openssl base64 -d -A >"$work/text"
			[ "$(sha256 "$work/text")" = "$b" ] || lie "$rule"
			;;
		spki)
			(where='' && key "$a" plan '') 2>/dev/null || lie "$rule"
			[ "$(sha256 "$work/plan.der")" = "$b" ] || lie "$rule"
			;;
		sig)
			(where='' && key "$a" plan '') 2>/dev/null || lie "$rule"
			printf %s "$b" | openssl base64 -d -A >"$work/text"
			signed plan "$work/text" "$c" || lie "$rule"
			;;
		esac
	done <"$work/plan"
	where=''
}

file=${1:?usage: verify.sh FILE}
case $(jq -r -s 'if length != 1 then "" else .[0].format? // "" end' "$file" 2>/dev/null || echo none) in
innerloop-proof-v1)
	named "$(field "$file" .entry_id)"
	claim "$file" '' "$(field "$file" .agent_id)" "$(field "$file" .created_at)"
	jq -e '.visibility == "public"' "$work/entry" >/dev/null || lie 'the signed entry is not public'
	chain "$file" .key_chain "$(field "$file" .agent_id)"
	proved=1
	;;
innerloop-journal-export-v1)
	jq -e '.entries | type == "array"' "$file" >/dev/null || lie 'the export has no list of entries'
	jq -c '.entries[]' "$file" >"$work/entries"
	while IFS= read -r line; do
		printf '%s\n' "$line" >"$work/line"
		paged "$work/line"
	done <"$work/entries"
	;;
*)
	if [ ! -s "$file" ] || [ -n "$(head -n 1 "$file" | jq -r 'try (.type // "") catch ""' 2>/dev/null)" ]; then
		archive "$file"
	elif jq -e . "$file" >/dev/null 2>&1; then
		lie 'it is neither a proof, nor an export, nor a page of one'
	else
		lie 'the document is not JSON'
	fi
	;;
esac
echo "every entry proves: $proved entries, $tombstones tombstones"
