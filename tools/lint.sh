#!/usr/bin/env bash
# Formatting, generated code, vet, staticcheck and the house rules.
# Runs every check before it fails, so that one run tells all.
set -uo pipefail
cd "$(dirname "$0")/.."
GO=${GO:-go}
tool() { "$GO" tool -modfile=tools/go.mod "$@"; }
failed=0
check() {
	local name=$1
	shift
	if "$@"; then echo "ok    $name"; else
		echo "FAIL  $name"
		failed=1
	fi
}

templates() { find . -name '*.templ' -not -path '*/node_modules/*' | LC_ALL=C sort; }
generated() { find . -name '*_templ.go' -not -path '*/node_modules/*' | LC_ALL=C sort; }

gofumpt_clean() {
	local bad
	bad=$(tools/gofiles.sh | xargs "$GO" tool -modfile=tools/go.mod gofumpt -l) || return 1
	[ -z "$bad" ] || { printf 'not formatted (make fmt):\n%s\n' "$bad"; return 1; }
}

# A formatted template comes back unchanged from the formatter.
templ_clean() {
	local file bad=0
	while read -r file; do
		tool templ fmt -stdout "$file" 2>/dev/null | cmp -s - "$file" || {
			echo "not formatted (make fmt): $file"
			bad=1
		}
	done < <(templates)
	return $bad
}

# Generating again would change nothing, and nothing lacks its template.
generated_current() {
	local file bad=0
	tool templ generate -check -log-level=warn || { echo "generated code is out of date (make gen)"; bad=1; }
	while read -r file; do
		[ -e "${file%_templ.go}.templ" ] || {
			echo "no template for $file"
			bad=1
		}
	done < <(generated)
	return $bad
}

# cell, tools and e2e/s3 are modules of their own inside this one, so ./... does
# not reach them.
go_vet() { "$GO" vet ./... cell && "$GO" -C tools vet ./... && "$GO" -C e2e/s3 vet ./...; }

check "gofumpt" gofumpt_clean
check "templ fmt" templ_clean
check "generated code" generated_current
check "go vet" go_vet
check "staticcheck" tool staticcheck ./... cell
check "house rules" "$GO" test -count=1 .
exit $failed
