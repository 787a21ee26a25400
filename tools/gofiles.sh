#!/usr/bin/env bash
# Lists the hand-written Go files, one a line: what gofumpt may judge.
set -euo pipefail
cd "$(dirname "$0")/.."
find . -name '*.go' ! -name '*_templ.go' \
	-not -path '*/node_modules/*' -not -path './.git/*' -not -path './dist/*' | LC_ALL=C sort
