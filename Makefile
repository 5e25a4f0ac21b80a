# Everything a developer or CI does has a target here; `make help` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := build

VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS  := -s -w -X main.version=$(VERSION)
BIN      := bin/sandpiper
TOOLS    := $(CURDIR)/bin/tools
PACKAGES ?= ./...

GOLANGCI_LINT := v2.15.0
GOFUMPT       := v0.12.0
GOVULNCHECK   := v1.9.0

.PHONY: help build images compose demo demo-slack test cgroup2 intake check bench crash soak image gvisor gallery pages tools fuzz clean

help: ## list the targets
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/sandpiper
	@mkdir -p bin
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/sandpiper

image: build ## build the sandbox image when it is absent
	$(BIN) sandbox build

images: image ## build the images of deploy/compose.yaml: the bot and an engine of its own
	cp /etc/ssl/certs/ca-certificates.crt bin/
	docker build -f deploy/bot/Dockerfile -t sandpiper .
	docker build --network host -f deploy/engine/Dockerfile -t sandpiper-engine .

compose: ## show deploy/compose.yaml at work: a task and the probes in the engine beside the bot
	.ci/compose

demo: image ## turn deploy/demo/sales.csv into a report in out/
	$(BIN) run "Weekly sales report: revenue by region and week, and what stands out" deploy/demo/sales.csv
	@echo; ls -l out/

demo-slack: image ## the same through a fake Slack workspace; prints the thread
	go run ./integrations/slack/slacktest/demo -binary $(BIN) -file deploy/demo/sales.csv

gallery: ## draw the charts that are hard to draw, with a contact sheet, into out/gallery
	go test ./skills/skilltest -count=1 -run TestGallery -args -gallery=$(CURDIR)/out/gallery
	@echo; ls -l out/gallery/contact-sheet.png

pages: ## look at the pages with Chromium; screenshots in out/pages
	rm -rf out/pages && mkdir -p out/pages
	go test ./cmd/sandpiper -count=1 -run TestPages -artifacts -outputdir=$(CURDIR)/out/pages
	@echo; find out/pages -name '*.png' | head -3

test: ## every test, those with containers included
	go test -race -shuffle=on -timeout 40m $(PACKAGES)

cgroup2: ## the probes and verdicts on an engine with cgroup v2, in an emulated machine (a quarter of an hour)
	.ci/cgroup2

intake: ## the binary's answer on every file that the intake's tests make (make test takes every eighth)
	SANDPIPER_INTAKE_EVERY=1 go test -count=1 -timeout 90m -v -run 'TestReportOnCases|TestProfileThisOnMadeFiles' ./sandbox/guest ./cmd/sandpiper

bench: image ## times and rates beside `docker run --rm` and other floors, on this machine
	.ci/bench

soak: ## 500 tasks with cancels, limits and restarts of a private engine (root)
	SANDPIPER_SOAK=500 go test -count=1 -timeout 120m -v -run TestSoak ./sandbox

# Counts, for a run that a time ends may fail by go.dev/issue/75804 alone (mended in Go 1.27).
fuzz: ## a few minutes of fuzzing: the guest's protocol, and what GitHub and models send
	@for f in FuzzHost FuzzFrame FuzzCleaner FuzzUnsafeName; do go test ./sandbox -run '^$$' -fuzz "^$$f\$$" -fuzztime 200000x || exit 1; done
	go test ./sandbox -run '^$$' -fuzz '^FuzzGuest$$' -fuzztime 50x
	@for f in FuzzWebhook FuzzRead; do go test ./integrations/github -run '^$$' -fuzz "^$$f\$$" -fuzztime 200000x || exit 1; done
	go test ./integrations/github/inert -run '^$$' -fuzz FuzzMarkdown -fuzztime 50000x

gvisor: ## build bin/runsc, gVisor's runtime, and say how to register it
	@mkdir -p bin
	cd deploy/gvisor && CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o $(CURDIR)/bin/runsc gvisor.dev/gvisor/runsc
	@echo; sed -n '/register it/,/no restart/p' deploy/gvisor/README.md

crash: ## kill the core 300 times, then the binary with its containers 300 times, and count what is left (an hour)
	CRASH_KILLS=300 go test -count=1 -timeout 30m -v -run TestKilledAnywhere ./integrations/testadapter
	BINARY_KILLS=300 go test -count=1 -timeout 180m -v -run TestKilledAnywhere ./cmd/sandpiper

check: tools ## tidy, format, lint and known vulnerabilities; runs no tests
	go mod tidy -diff
	cd deploy/gvisor && go mod tidy -diff
	@out=$$($(TOOLS)/gofumpt -l $$(git ls-files '*.go')); [ -z "$$out" ] || { echo "gofumpt:"; echo "$$out"; exit 1; }
	GOLANGCI_LINT_CACHE=$(CURDIR)/bin/lint-cache $(TOOLS)/golangci-lint run --allow-parallel-runners $(PACKAGES)
	@TOOLS=$(TOOLS) .ci/vulncheck

tools:
	@mkdir -p $(TOOLS)
	@[ -x $(TOOLS)/golangci-lint ] || GOBIN=$(TOOLS) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT)
	@[ -x $(TOOLS)/gofumpt ] || GOBIN=$(TOOLS) go install mvdan.cc/gofumpt@$(GOFUMPT)
	@[ -x $(TOOLS)/govulncheck ] || GOBIN=$(TOOLS) go install golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK)

clean: ## remove what the targets made in the repository
	rm -rf bin out
