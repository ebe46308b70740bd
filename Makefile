# `make` prints what there is. Nothing here is needed for the two commands of the README.

GOBIN := $(shell go env GOPATH)/bin
# Its results are kept beside the code: one that another checkout left behind names files of that checkout.
LINTER := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.12.0
WORKFLOWCHECK := go.temporal.io/sdk/contrib/tools/workflowcheck@v0.6.0
# Packages that do several things at once, and whose tests do not link Temporal or a database: the race detector builds them in a minute or two, those in ten.
LEAN = ./engine ./engine/firsts ./landscape ./landscape/memdriver ./payload ./payload/cache ./payload/fsstore ./payload/memstore ./plugin/egress ./worker/delivery ./internal/memory

.PHONY: help
help: ## print this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "%-16s %s\n", $$1, $$2}'

.PHONY: run
run: ## run the example
	go run ./cmd/waymark run examples/bird-strikes/pipeline.yaml

.PHONY: build
build: ## build bin/waymark
	go build -o bin/waymark ./cmd/waymark

.PHONY: test
test: ## pass all tests
	go test ./...

.PHONY: check
check: campaigns crash-quick race lint ## all that a change must pass beside the tests: long campaigns, crash laboratory, race detector, linters

# What `go test` tries a little of in a few seconds, at length. Many of them wait: make -j3 tries some side by side.
LOST := 30
CAMPAIGNS := lost-commits lost-replies
.PHONY: campaigns $(CAMPAIGNS)
campaigns: $(CAMPAIGNS) ## long campaigns of tests

NIGHTLY := bad-rows refusals power-payloads power-files parquet purges calendar fates deeds merges graphs storages bundle-bytes race-rest moments crowd every-case lost reproductions arrivals voices
.PHONY: nightly $(NIGHTLY)
nightly: $(NIGHTLY) zombies crash ## what takes too long for every change
calendar:
	go test ./pipeline/calendar -times-of-day 24 -rapid.checks 4000
fates:
	go test ./activities -run '^TestFates' -stride 4
bad-rows:
	go test ./tests -run '^TestEveryRecordIsAccountedFor$$|^TestFullDisk$$' -everywhere
deeds:
	go test ./tests/resume -step 23
merges:
	go test ./tests/merges -branches 4
refusals:
	go test ./audit -run '^TestRowsTurnedAway$$' -groups
graphs:
	go test ./tests/graphs -run '^TestRealRuns$$|^TestRunsDieAndGoOn$$|^TestManyLanesDieAndGoOn$$' -seeds 80 -deaths 14 -lane-deaths 2
storages:
	go test ./tests/graphs -run '^TestRealRuns$$' -storage postgres+s3 -seeds 40
parquet:
	go test ./plugin/parquet -run '^TestDuckDB$$' -files 3000
power-payloads:
	go test ./payload/fsstore -run '^TestPowerLoss$$' -losses 40
power-files:
	go test ./plugin/file -run '^TestPowerLoss$$|^TestInterleaved$$' -every 1 -losses 3 -rounds 200
bundle-bytes:
	go test ./audit/evidence/bundle -run '^TestSingleByte$$' -every 1
lost-commits:
	go test ./landscape/pgstore -run '^TestLostCommits$$' -count=1 -lost=$(LOST)
purges:
	go test ./audit/retain -run '^TestPurgeBesideWriters$$/^sqlite' -count=3 -rounds 1700
lost-replies:
	go test ./plugin/postgres -run '^TestCommitsWhoseReplyIsLost$$|^TestAttemptsAtOnePartAtTheSameTime$$' -count=1 -lost=$(LOST)

.PHONY: race
race: ## pass the tests of packages that do several things at once under the race detector
	# The file system of TestPowerLoss is not the one of a normal build under the detector. Of what takes long, what is concurrent.
	go test -race -skip '^TestPowerLoss$$|^TestAttacks$$|^TestEntriesAreNotes$$' $(LEAN)

race-rest: # these bring databases and their clients with them, or do one thing after the other
	go test -race -skip '^TestPowerLoss$$' ./plugin/file ./plugin/postgres ./plugin/csv ./plugin/jsonl ./plugin/lookup
	go test -race ./activities/... ./engine/barrier ./engine/plan ./landscape/history ./worker/telemetry ./internal/failpoint
	go test -race ./client ./landscape/admit ./landscape/seal ./worker ./worker/daemon ./worker/formats ./worker/storage ./workflows/...
	go test -race -run '^TestDriver$$/^(Concurrency|Claim|Guards)$$|^TestGroup|^TestManyCreate$$' ./landscape/sqlitestore ./landscape/pgstore
	go test -race -run '^TestBackend$$|^TestManyWriters|^TestHealers' ./payload/s3store
	go test -race -run '^TestTargetContract$$|^TestLostReplies$$|^TestTwoRunsOverwrite$$|^TestReaderAt$$' ./plugin/object
	go test -race -run 'IsReadBack|TheSameRows|Contract' ./plugin/parquet

.PHONY: lint
# What go vet looks for, govet does among golangci-lint's linters.
lint: $(GOBIN)/golangci-lint $(GOBIN)/workflowcheck ## vet, formatting, linters, determinism of workflow code, words
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo 'run gofmt -w on these files'; exit 1; }
	GOLANGCI_LINT_CACHE=$(HOME)/.cache/golangci-lint$(CURDIR) $(GOBIN)/golangci-lint run ./...
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
	go test ./tests/cluster -run '^$$' -bench Run -benchtime 3x -rows 1000000 -timeout 20m

.PHONY: bench-starts
bench-starts: build ## measure many small runs that are asked for through the HTTP API
	go run ./tests/bench/starts -binary bin/waymark
	go test ./tests/cluster -run '^$$' -bench SmallRuns -benchtime 1000x -timeout 20m

.PHONY: bench-load
bench-load: build ## measure how many small runs are done in a second, and keep 80 % of that going for half an hour
	go run ./tests/bench/starts -binary bin/waymark -runs 2000 -share 0.8

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

.PHONY: crash
crash: lab ## kill runs at every moment, and recoveries at 2,000 more, and compare what comes of it
	bin/lab -singles all -pairs 2000 -report bin/crash.json tests/crash/reference.yaml
	bin/lab -singles all -report bin/crash-timed.json tests/crash/timed.yaml
	bin/lab -singles all -pairs 300 -report bin/crash-repeats.json tests/crash/repeats.yaml
	bin/lab -singles all -pairs 300 -report bin/crash-small.json tests/crash/small.yaml

.PHONY: crash-quick
crash-quick: lab ## the same for a few moments of every name
	bin/lab -singles 12 -pairs 4 tests/crash/reference.yaml
	bin/lab -singles 2 tests/crash/timed.yaml
	bin/lab -singles 4 tests/crash/repeats.yaml
	bin/lab -singles 4 tests/crash/small.yaml

.PHONY: zombies
zombies: ## stop 200 worker processes in the middle of their work, and let them go on when others have done it
	go test ./tests/zombies -zombies 200 -count=1 -v -timeout 30m

moments: # kill servers at every moment of a slot and of starts that wait, and commands at every moment of forgetting, purging and archiving
	go test ./tests/crash -run '^TestServeIsKilled|^TestForgetting|^TestArchivingIsKilled$$|^TestPurgeIsKilled$$|^TestExecutionIsKilled$$|^TestRotationIsKilled$$|^TestLabReportsLostProtection$$|^TestEveryMomentIsReached$$' -every 1 -count=1
every-case: # every case of every list, and the tests that `go test` skips because shorter ones say a part of them
	go test ./audit ./cmd/waymark ./landscape/history ./landscape/pgstore ./landscape/sqlitestore ./payload/s3store ./tests ./tests/api ./tests/daemon ./tests/pages ./tests/serve ./tests/triggers -every 1 -count=1 -timeout 90m
	go test ./tests/cluster -every 1 -rows 150000 -count=1 -timeout 30m
lost: # as many lost commits and replies as a campaign has not the time for
	$(MAKE) lost-commits lost-replies LOST=200
reproductions:
	go test ./tests -run '^TestExamplesAreReproduced$$' -everywhere

voices: # ask about random runs on pages, by the API, by commands and in SQL, and follow every link of a site with runs of all kinds
	go test ./tests/pages -run '^TestVoicesAgree$$|^TestCrawl$$' -every 1 -voice 0 -voices 60 -every-row -count=1 -timeout 30m
	go test ./tests/api -run '^TestRemoteSame$$' -every 1 -documents 6 -count=1 -timeout 20m

crowd: # start 200 runs over three pools, and kill the server and terminate workflows meanwhile
	go test ./tests/serve -run '^TestACrowdWaitsForPlaces$$' -starts 200 -count=1 -v -timeout 20m

arrivals: # put 10,000 files into a folder, and 10,000 objects into a bucket, and kill who watches and works meanwhile
	go test ./tests/triggers -run '^TestFilesArriveWhileProcessesAreKilled$$' -files 10000 -kills 12 -count=1 -v -timeout 60m

.PHONY: record-history
record-history: ## record the workflow histories that the replay test holds new code against
	go test ./tests -run '^TestRecord$$' -record -count=1

.PHONY: cluster-test
cluster-test: ## a million rows through two workers, Postgres, S3 and Temporal, of which each is killed once
	go test ./tests/cluster -rows 1000000 -count=1 -v -timeout 20m
