#!/usr/bin/env bash
# Finds every fuzz target and runs each for the given time; stops at the first finding.
set -euo pipefail
cd "$(dirname "$0")/.."
GO=${GO:-go}
time=${1:-60s}
count=0
for package in $("$GO" list ./...); do
	for target in $("$GO" test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
		echo "== $package $target for $time"
		"$GO" test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 20x "$package"
		count=$((count + 1))
	done
done
[ "$count" -gt 0 ] || { echo "no fuzz target found" >&2; exit 1; }
echo "$count targets, $time each, nothing found"
