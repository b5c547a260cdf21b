# The build tags live here only: FTS5 for search, libsecp256k1 for fast signature checks.
TAGS   := sqlite_fts5 libsecp256k1
GO     := go
GOFLAGS_TAGS := -tags "$(TAGS)"
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -X main.version=$(VERSION)

.PHONY: run build test lint clean

build:
	$(GO) build $(GOFLAGS_TAGS) -trimpath -ldflags "$(LDFLAGS)" -o bin/ ./cmd/...

run: build
	./bin/engramd serve

test:
	$(GO) test $(GOFLAGS_TAGS) -race ./...

lint:
	test -z "$$(gofmt -l .)"
	$(GO) vet ./...
	$(GO) vet $(GOFLAGS_TAGS) ./...

clean:
	rm -rf bin
