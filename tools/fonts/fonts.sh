#!/usr/bin/env bash
# Cuts the faces of the pages out of their npm packages into static/fonts, where
# the next build embeds them. Weights 400 to 600, of the italics 400 alone, and
# the characters of Latin and of Russian apart, so that a reader of English
# fetches no Cyrillic. The ranges are those of static/fonts.go; a test holds the
# two together.
set -euo pipefail
cd "$(dirname "$0")"
out=../../static/fonts
# Debian's own Python: another one first on the path has no Debian packages.
python=/usr/bin/python3
[ -x "$python" ] || python=$(command -v python3)

have() { "$python" -c 'import fontTools, brotli' 2>/dev/null; }
if ! have || ! command -v npm >/dev/null; then
	if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
		echo "make fonts needs npm and Python with fonttools and brotli (Debian: npm python3-fonttools python3-brotli)" >&2
		exit 1
	fi
	export DEBIAN_FRONTEND=noninteractive
	apt-get -qq -o DPkg::Lock::Timeout=400 update
	apt-get -qq -o DPkg::Lock::Timeout=400 install -y --no-install-recommends npm python3-fonttools python3-brotli >/dev/null
fi

npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

latin='U+0020-007E,U+00A0-00FF,U+0131,U+0152-0153,U+02C6,U+02DA,U+02DC,U+2000-200B,U+2010-2015,U+2018-201E,U+2020-2022,U+2026,U+202F-2030,U+2032-2033,U+2039-203A,U+2044,U+20AC,U+2122,U+2190-2193,U+2212'
cyrillic='U+0301,U+0400-045F,U+0490-0491,U+2116'

cut() { # package, file in it without the ending, name, characters, weights
	local from="node_modules/@fontsource-variable/$1/files/$2.woff2"
	"$python" -m fontTools.varLib.instancer -q -o "$work/$3.ttf" "$from" "wght=$5"
	"$python" -m fontTools.subset "$work/$3.ttf" --unicodes="$4" --flavor=woff2 --output-file="$out/$3.woff2" \
		--layout-features=kern,liga,locl,calt,mark,mkmk,ccmp,tnum --no-hinting --desubroutinize --no-notdef-outline --drop-tables+=STAT
	echo "$3.woff2 $(wc -c <"$out/$3.woff2") bytes"
}

cut literata literata-latin-wght-normal literata-latin "$latin" 400:600
cut literata literata-cyrillic-wght-normal literata-cyrillic "$cyrillic" 400:600
cut literata literata-latin-wght-italic literata-italic-latin "$latin" 400
cut literata literata-cyrillic-wght-italic literata-italic-cyrillic "$cyrillic" 400
cut source-sans-3 source-sans-3-latin-wght-normal source-sans-latin "$latin" 400:600
cut source-sans-3 source-sans-3-cyrillic-wght-normal source-sans-cyrillic "$cyrillic" 400:600
cp node_modules/@fontsource-variable/literata/LICENSE "$out/OFL-literata.txt"
cp node_modules/@fontsource-variable/source-sans-3/LICENSE "$out/OFL-source-sans-3.txt"
