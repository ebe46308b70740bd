# `make` prints what there is. Nothing here is needed for the two commands of the README.

GOBIN := $(shell go env GOPATH)/bin
# Packages for Node that tests use, where .ci/run installs them: CONTRIBUTING.md.
export WAYMARK_NODE ?= $(wildcard $(HOME)/.cache/waymark-node)
# Its results are kept beside the code: one that another checkout left behind names files of that checkout.
LINTER := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.12.0
WORKFLOWCHECK := go.temporal.io/sdk/contrib/tools/workflowcheck@v0.6.0
# Packages that do several things at once, and whose tests do not link Temporal: the race detector builds them in a minute or two, those in ten.
LEAN = ./engine ./engine/firsts ./landscape ./payload ./payload/cache ./payload/fsstore ./payload/memstore ./plugin/egress ./worker/delivery ./internal/memory

.PHONY: help
help: ## print this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "%-16s %s\n", $$1, $$2}'

.PHONY: run
run: ## run the example
	go run ./cmd/waymark run examples/bird-strikes/pipeline.yaml

.PHONY: build
build: ## build bin/waymark
	go build -o bin/waymark ./cmd/waymark

.PHONY: release
release: ## make archives, SBOMs and the context of images for four platforms, in out/release, which takes as long as four first builds: VERSION=1.2.3
	.ci/release "$(VERSION)"

.PHONY: test
test: ## pass the tests of the day; those of the night are nightly and campaigns
	go test ./...

.PHONY: check
check: test lint race crash-quick conformance pages ## all that a change must pass, in a quarter of an hour

.PHONY: nightly
nightly: ## try for an hour what takes too long for every change, and continue where the last night ended; FOR=10m for another time
	go run ./tests/night -for $(or $(FOR),60m)

.PHONY: campaigns
campaigns: ## try all that nights try and that has not passed at this commit yet; go run ./tests/night -status shows how far that is
	go run ./tests/night -all

.PHONY: conformance
conformance: ## hold the drivers of Postgres and S3 to every sentence of their contracts
	go test ./landscape/pgstore ./payload/s3store -count=1 -every 1 -run '^TestDriver$$|^TestBackend$$'

.PHONY: pages
pages: ## look at all web pages in one size, with a browser
	go test ./tests/pages -count=1 -every-scene -run '^TestPages$$'

.PHONY: race
race: ## pass the tests of packages that do several things at once under the race detector
	# The file system of TestPowerLoss is not the one of a normal build under the detector. Of what takes long, what is concurrent.
	go test -race -skip '^TestPowerLoss$$|^TestAttacks$$|^TestEntriesAreNotes$$|^TestFates|^TestCompare$$' $(LEAN)

.PHONY: lint
# What go vet looks for, govet does among golangci-lint's linters.
# Only lines that changed since BASE must be short: since origin's main, or the last commit. A clone may be too shallow to know either.
lint: LINT = GOLANGCI_LINT_CACHE=$(HOME)/.cache/golangci-lint$(CURDIR) $(GOBIN)/golangci-lint run
lint: BASE = $(shell base=$$(git merge-base HEAD origin/main 2>/dev/null); \
	[ -n "$$base" ] && [ "$$base" != "$$(git rev-parse HEAD)" ] || base=$$(git rev-parse -q --verify HEAD~1 2>/dev/null); echo $$base)
lint: $(GOBIN)/golangci-lint $(GOBIN)/workflowcheck ## vet, formatting, linters, determinism of workflow code, words
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo 'run gofmt -w on these files'; exit 1; }
	$(LINT) ./...
	$(if $(BASE),$(LINT) --enable-only=lll --new-from-rev=$(BASE) ./...)
	$(GOBIN)/workflowcheck ./workflows ./workflows/slots
	go test -count=1 ./tests/words

$(GOBIN)/golangci-lint:
	go install $(LINTER)

$(GOBIN)/workflowcheck:
	go install $(WORKFLOWCHECK)

.PHONY: picture
picture: ## draw docs/img/run.svg, the picture in README.md, from a run of the example
	go run ./tests/picture

.PHONY: shots
shots: ## show every web page in two themes and two sizes, on out/shots/index.html, with the last pictures beside
	CI=true WAYMARK_SCREENSHOTS=$(CURDIR)/out/shots go test ./tests/pages -count=1 -every 1 -run 'TestPages$$'

.PHONY: pictures
pictures: ## take docs/img/page-*.png, the pictures of web pages in README.md, from runs of the example
	CI=true WAYMARK_PICTURES=$(CURDIR)/docs/img go test ./tests/pages -count=1 -every 1 -run 'TestPictures$$'

.PHONY: bench
bench: build ## measure whole runs, beside a plain Go loop, and on a cluster of processes; BESIDE=BINARY also measures another build of it
	go run ./tests/bench -binary bin/waymark $(if $(BESIDE),-beside $(BESIDE))
	go test ./tests/workers -run '^$$' -bench Run -benchtime 3x -rows 1000000 -timeout 20m

.PHONY: bench-starts
bench-starts: build ## measure many small runs that are asked for through the HTTP API
	go run ./tests/bench/starts -binary bin/waymark
	go test ./tests/workers -run '^$$' -bench SmallRuns -benchtime 1000x -timeout 20m

.PHONY: bench-load
bench-load: build ## measure many runs, schedules and steps at once, and little CPU; BESIDE=BINARY, ONLY=crowd
	go run ./tests/bench/load -binary bin/waymark $(if $(BESIDE),-beside $(BESIDE)) $(if $(ONLY),-only '$(ONLY)')

.PHONY: bench-sustained
bench-sustained: build ## measure how many small runs are done in a second, and keep 80 % of that going for half an hour
	go run ./tests/bench/starts -binary bin/waymark -runs 2000 -share 0.8

.PHONY: bench-scale
# Its last line is JSON, which go test would say something after.
bench-scale: ## measure one run by one, two and four workers of a fifth of a core; ROWS=1000000 WORKERS=1,2 CORES=0.25 TIMES=3 ONLY=csv-parts/near V=1
	go test -c -o bin/scale.test ./tests/workers
	cd tests/workers && ../../bin/scale.test -test.run '^$$' -test.bench '^BenchmarkScale$$/$(or $(ONLY),.)' -test.benchtime 1x -test.timeout 12h \
		-rows $(or $(ROWS),4000000) $(if $(WORKERS),-workers $(WORKERS)) $(if $(CORES),-cores $(CORES)) $(if $(TIMES),-times $(TIMES)) $(if $(V),-test.v)

.PHONY: bench-readers
bench-readers: build ## measure the pages and the API while 200 people read them and a run of 3 M rows is running
	go run ./tests/bench/readers -binary bin/waymark

.PHONY: bench-ui
bench-ui: build ## measure the web pages on records of a million and of ten million rows
	go run ./tests/bench/pages -binary bin/waymark
	go run ./tests/bench/pages -binary bin/waymark -rows 10000000

.PHONY: mutants
mutants: ## break the code in one place after the other, and fail if no test notices
	go run ./tests/mutants

# A build that can be told to die: docs/crash.md.
.PHONY: lab
lab:
	go build -ldflags '-X waymark/internal/failpoint.armed=yes' -o bin/waymark-lab ./cmd/waymark
	go build -o bin/lab ./tests/crash/lab/cmd

.PHONY: crash-quick
crash-quick: lab ## kill runs, and recoveries, at a few moments of every name, and compare what comes of it
	bin/lab -singles 12 -pairs 4 tests/crash/reference.yaml
	bin/lab -singles 2 tests/crash/timed.yaml
	bin/lab -singles 4 tests/crash/repeats.yaml
	bin/lab -singles 4 tests/crash/small.yaml
	bin/lab -singles 6 -split tests/crash/split.yaml

.PHONY: record-history
record-history: ## record the workflow histories that the replay test holds new code against
	go test ./tests -run '^TestRecord$$' -record -count=1
