# Needs Go and git; the tools that it uses are pinned in go.mod (go tool NAME).
GO      ?= go
PREFIX  ?= /usr/local
DESTDIR ?=
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)
FUZZTIME ?= 10s
ROUNDS  ?= 20
LDFLAGS  = -X main.linkedVersion=$(VERSION)

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## bin/nightaudit
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/nightaudit ./cmd/nightaudit

.PHONY: test
test: ## the tests, quickly
	$(GO) test -short ./...

# The formatter and deadcode always exit 0: what they print is the failure.
.PHONY: check
check: ## all that must hold before a commit
	@unformatted=$$($(GO) tool gofumpt -l .); [ -z "$$unformatted" ] || { echo "not formatted (go tool gofumpt -w .):" $$unformatted >&2; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	@dead=$$($(GO) tool deadcode -test ./...); [ -z "$$dead" ] || { echo "$$dead" >&2; exit 1; }
	$(GO) mod tidy -diff
	$(GO) test -race -p 2 ./...
	$(GO) test ./trace/detect

.PHONY: lint
lint: ## golangci-lint, where it is installed
	@if command -v golangci-lint >/dev/null; then golangci-lint run; else echo 'golangci-lint is not installed; nothing was linted'; fi

# On a busy machine go's fuzzer may report its own deadline as a failure; only a
# failing input is one.
.PHONY: fuzz
fuzz: ## each fuzz target for FUZZTIME (10s)
	@targets=$$(git grep -oE '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go'); \
	while IFS=: read -r file target; do \
		echo "$${target#func } in $$(dirname "$$file")"; \
		out=$$($(GO) test -run '^$$' -fuzz "^$${target#func }\$$" -fuzztime $(FUZZTIME) "./$$(dirname "$$file")" </dev/null 2>&1) || \
			{ grep -q 'context deadline exceeded' <<<"$$out" && ! grep -q 'Failing input' <<<"$$out"; } || { echo "$$out"; exit 1; }; \
		tail -n 1 <<<"$$out"; \
	done <<<"$$targets"

.PHONY: long
long: ## the tests ROUNDS (20) times, for what fails only sometimes
	$(GO) test -race -p 2 -count $(ROUNDS) -timeout 3h ./...

.PHONY: bench
bench: ## the benchmarks
	$(GO) test -run '^$$' -bench . -benchmem ./...

.PHONY: install
install: build ## into PREFIX (/usr/local), with the units; keeps a configuration
	install -D -m 0755 bin/nightaudit $(DESTDIR)$(PREFIX)/bin/nightaudit
	mkdir -p $(DESTDIR)/etc/systemd/system
	for unit in nightaudit.service nightaudit-once.service nightaudit.timer; do \
		sed 's,/usr/local/bin/,$(PREFIX)/bin/,' systemd/$$unit >$(DESTDIR)/etc/systemd/system/$$unit; \
	done
	[ -e $(DESTDIR)/etc/nightaudit/nightaudit.yaml ] || install -D -m 0644 configs/nightaudit.yaml $(DESTDIR)/etc/nightaudit/nightaudit.yaml

.PHONY: clean
clean: ## what make has made
	rm -rf bin coverage*
