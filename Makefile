# Innerloop: every target does what its ## text says; `make` alone lists them.

GO      ?= go
TOOL    := $(GO) tool -modfile=tools/go.mod
FUZZTIME ?= 60s
CHAOS    ?= 500
# Large journals for measurements are kept here between runs.
BENCH_DATA ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/innerloop-bench

# A checkout names itself; an unpacked archive is "dev".
VERSION ?= $(shell test -e .git && git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT  ?= $(shell test -e .git && git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)
BUILD   := CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)'

RELEASES := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64

.DEFAULT_GOAL := help
.PHONY: help setup dev run build fonts gen fmt lint unit fuzz golden bench screenshots soak stall chaos test lighthouse cross check release

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## fetch modules, build the pinned tools, point git at .githooks
	$(GO) mod download
	$(TOOL) templ version
	$(TOOL) gofumpt --version
	$(TOOL) staticcheck --version
	@if test -e .git; then git config core.hooksPath .githooks; else echo "not a git checkout: no hooks to set"; fi

dev: ## throw-away journal with demo entries, rebuilt and restarted on change
	$(GO) -C tools run ./dev

run: build ## the program as a user gets it, on ./data
	./bin/innerloop serve --data-dir ./data

build: ## one static binary in bin/innerloop, version stamped
	$(BUILD) -o bin/innerloop ./cmd/innerloop

fonts: ## cut the pages' faces into static/fonts, for the next build to embed
	tools/fonts/fonts.sh

gen: ## write the generated code: templ
	$(TOOL) templ generate

fmt: ## gofumpt and templ fmt
	$(TOOL) templ fmt .
	tools/gofiles.sh | xargs $(TOOL) gofumpt -w

lint: ## gofumpt, templ fmt, generated code, go vet, staticcheck, the house rules
	tools/lint.sh

unit: ## quick tests, embedded store only, no race detector
	e2e/setup.sh sandbox
	$(GO) test -skip '/^postgres$$|Postgres' $$($(GO) list ./... | grep -v '/e2e$$')

fuzz: ## every fuzz target for FUZZTIME (60s)
	tools/fuzz.sh $(FUZZTIME)

golden: ## rewrite the golden files; review the diff like code
	INNERLOOP_UPDATE_GOLDEN=1 $(GO) test $$($(GO) list ./... | grep -v '/e2e$$')

bench: build ## figures beside the limits of this machine, into docs/benchmarks.md
	CGO_ENABLED=0 $(GO) run ./e2e/bench -binary bin/innerloop -data $(BENCH_DATA) -out docs/benchmarks.md

soak: build ## what takes long: a million entries, made once and kept in BENCH_DATA, and reading them
	$(GO) run ./e2e/bench -binary bin/innerloop -data $(BENCH_DATA) -scale 1000000

stall: build ## a thousand connections that send half a request: memory, and what others notice
	$(GO) run ./e2e/bench -binary bin/innerloop -stall 1000 -span 10s

chaos: ## CHAOS (500) servers killed at random moments of code in their sandbox: nothing may stay behind
	INNERLOOP_CHAOS_ROUNDS=$(CHAOS) $(GO) test ./e2e -run '^TestKillsAtRandomMomentsLeaveNothing$$' -count 1 -v -timeout 0

test: ## everything: race, both engines, stories, real browser, real MCP clients
	e2e/setup.sh
	$(GO) run ./e2e/suite

lighthouse: build ## Lighthouse on four pages of a seeded journal, median of three; wants a quiet machine
	e2e/setup.sh
	e2e/lighthouse.sh

screenshots: fonts build ## pictures of every page kind, into docs/screenshots
	e2e/setup.sh
	e2e/screenshots.sh bin/innerloop docs/screenshots

cross: ## the program compiles for Linux, macOS and Windows
	@set -e; for os in linux darwin windows; do \
		echo "build for $$os"; GOOS=$$os CGO_ENABLED=0 $(GO) build -o /dev/null ./cmd/innerloop; \
	done

check: gen lint test cross build ## what to run before handing a change over

release: ## binaries for three systems in dist/, with checksums
	rm -rf dist && mkdir -p dist
	@set -e; for target in $(RELEASES); do \
		os=$${target%/*}; arch=$${target#*/}; suffix=; \
		test $$os != windows || suffix=.exe; \
		echo "dist/innerloop_$(VERSION)_$${os}_$${arch}$$suffix"; \
		GOOS=$$os GOARCH=$$arch $(BUILD) -o "dist/innerloop_$(VERSION)_$${os}_$${arch}$$suffix" ./cmd/innerloop; \
	done
	cd dist && { sha256sum innerloop_* 2>/dev/null || shasum -a 256 innerloop_*; } > SHA256SUMS
