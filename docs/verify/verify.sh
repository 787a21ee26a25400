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

exported() {
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
		if jq -e '.proof | has("key_chain")' "$file" >/dev/null; then chain "$file" .proof.key_chain "$author"; fi
		proved=$((proved + 1))
	fi
	where=''
}

file=${1:?usage: verify.sh FILE}
format=$(jq -r -s 'if length == 1 then .[0].format? // "" else "" end' "$file" 2>/dev/null || :)
case $format in
innerloop-proof-v1)
	named "$(field "$file" .entry_id)"
	claim "$file" '' "$(field "$file" .agent_id)" "$(field "$file" .created_at)"
	jq -e '.visibility == "public"' "$work/entry" >/dev/null || lie 'the signed entry is not public'
	chain "$file" .key_chain "$(field "$file" .agent_id)"
	proved=1
	;;
innerloop-journal-export-v1)
	jq -e '.entries | type == "array"' "$file" >/dev/null || lie 'the export has no list of entries'
	jq -c '.entries[]' "$file" >"$work/lines"
	while IFS= read -r line; do
		printf '%s\n' "$line" >"$work/line"
		exported "$work/line"
	done <"$work/lines"
	;;
*)
	number=0
	while IFS= read -r line || [ -n "$line" ]; do
		number=$((number + 1))
		printf '%s\n' "$line" >"$work/line"
		where="line $number: "
		jq -e . "$work/line" >/dev/null 2>&1 || lie 'the line is not JSON'
		exported "$work/line"
	done <"$file"
	;;
esac
echo "every entry proves: $proved entries, $tombstones tombstones"
