# "make" lists what there is; .ci/run is all of it that a change must pass.
.DEFAULT_GOAL := help
.PHONY: help build test race fuzz bench lint load demo alerts ci release-check image-check

FUZZTIME ?= 20s
BENCHTIME ?= 1s
MINUTE ?= 2s
LINT = go tool -modfile=.ci/lint/go.mod golangci-lint

help: ## Show this help.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## Build bin/processor.
	go build -o bin/ ./cmd/processor

test: ## Run the tests.
	go test ./...

race: ## Run the tests under the race detector, in random order.
	go test -race -shuffle=on ./...

fuzz: ## Fuzz every target for FUZZTIME (20s each).
	@for pkg in $$(go list ./...); do \
		for target in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
			echo "$$pkg $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg || exit 1; \
		done; \
	done

bench: ## Run the benchmarks.
	go test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) ./...

lint: ## Check format, vet and lint. The first run builds the linter, which takes minutes.
	@test -z "$$(gofmt -l .)" || { echo "not formatted, run gofmt -w on:"; gofmt -l .; exit 1; }
	go vet ./...
	$(LINT) run ./...

load: ## Publish as many agents at once against a fresh processor, and check the totals.
	go run ./loadtest

demo: ## Run the main job on a sample.
	go run ./cmd/processor demo

alerts: ## See each alert fire in a Prometheus on its fault, and end by its runbook. MINUTE=1m takes real minutes.
	go test ./cmd/processor -run TestAlertsInPrometheus -v -timeout 8h -alerts.minute $(MINUTE)

release-check: ## Make the release's files without publishing them, and try the packages. The first run builds goreleaser, which takes minutes.
	.ci/release/check

image-check: ## Build the image with buildah, without a registry, and try it. It needs root.
	.ci/image/check

ci: ## Everything that a change must pass.
	.ci/run
