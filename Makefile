# prowgate. `make help` lists the targets. Needs Go and make; lint fetches its tools, pinned, into .cache/bin.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# GOOS and GOARCH choose the machine that dist/ is for (deployment: linux and amd64; default: this one).
# They stay out of every other command, for bin/ and the tools have to run here.
unexport GOOS GOARCH

# Builds must not depend on what git says about the tree (nor on git being there).
export GOFLAGS := $(filter-out -buildvcs=%,$(GOFLAGS)) -buildvcs=false

SEEDS     ?= 200
BENCHFLAGS ?=
TESTFLAGS ?=
TOOLS     := $(CURDIR)/.cache/bin
REPRODUCIBLE := -trimpath -ldflags "-s -w -buildid="
FUNCTIONS := $(wildcard functions/*/function.json)
DEPLOY    := CGO_ENABLED=0 GOOS=$(GOOS) GOARCH=$(GOARCH) go build $(REPRODUCIBLE)

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-14s %s\n", $$1, $$2}' Makefile

.PHONY: demo
demo: build ## run gates of every kind on this machine and show what each pipeline step would see
	CGO_ENABLED=0 go run ./local/demo

.PHONY: test
test: wire ## every test; REQUIRE_WIRE=1 makes a missing Node a failure
	@race=; cc=$$(go env CC); \
	if [ "$$(go env CGO_ENABLED)" = 1 ] && command -v "$${cc%% *}" >/dev/null; then race=-race; \
	else echo "no C compiler for cgo: testing without the race detector"; export CGO_ENABLED=0; fi; \
	go run ./infra/lint/runtests $$race -timeout 15m $(TESTFLAGS) ./...

# Where Node or npm is missing, or the packages cannot be had, the wire tests say themselves what they lack.
.PHONY: wire
wire: ## the services that the wire tests talk to, by npm as infra/wire/package-lock.json names them
	@cd infra/wire && if cmp -s package-lock.json node_modules/.installed; then :; \
	elif ! command -v npm >/dev/null; then echo "no npm: the wire tests have nothing to talk to"; \
	elif npm ci --ignore-scripts --no-progress --loglevel=error; then cp package-lock.json node_modules/.installed; \
	elif [ "$$REQUIRE_WIRE" = 1 ]; then exit 1; \
	else echo "npm ci failed: the wire tests have nothing to talk to"; fi

.PHONY: build
build: bin package ## bin/local, bin/gate and the packages in dist/

.PHONY: bin
bin: ## bin/local and bin/gate
	CGO_ENABLED=0 go build -trimpath -o bin/local ./local
	CGO_ENABLED=0 go build -trimpath -o bin/gate ./infra/ev2/gate

.PHONY: package
package: package-azure package-lambda ## the deployable folders in dist/, for GOOS and GOARCH

.PHONY: package-azure
package-azure: ## dist/azure: host.json, the functions and the handler
	rm -rf dist/azure
	mkdir -p dist/azure
	cp host.json dist/azure/
	set -e; for f in $(FUNCTIONS); do d=dist/azure/$$(basename $$(dirname $$f)); mkdir -p $$d; cp $$f $$d/; done
	$(DEPLOY) -o dist/azure/handler ./functions/azure

.PHONY: package-lambda
package-lambda: ## dist/lambda: bootstrap
	rm -rf dist/lambda
	mkdir -p dist/lambda
	$(DEPLOY) -tags lambda.norpc,grpcnotrace -o dist/lambda/bootstrap ./functions/lambda

.PHONY: func
func: ## the package in the real Functions host, with Microsoft's emulators; needs func and docker
	CGO_ENABLED=0 go build -trimpath -o bin/func ./local/func
	bin/func --check
	$(MAKE) package-azure
	bin/func

.PHONY: lint
lint: tools ## golangci-lint, buf, generated code up to date, layering
	$(TOOLS)/golangci-lint run --allow-parallel-runners ./...
	cd gangway && $(TOOLS)/buf lint
	rm -rf .cache/generated && mkdir -p .cache/generated
	cd gangway && PATH=$(TOOLS):$$PATH $(TOOLS)/buf generate -o $(CURDIR)/.cache/generated
	diff -r .cache/generated/gangwaypb gangway/gangwaypb
	go test -count=1 ./infra/lint

.PHONY: sim
sim: ## the simulator over SEEDS seeds; names the first failing seed and how to repeat it
	GOGC=off GOMEMLIMIT=4GiB go test -count=1 -timeout 0 -v -run '^TestSeeds$$' ./shared/sim -seeds $(SEEDS)

# A module of its own, so that Prow's dependencies stay out of ours; takes minutes when nothing is cached. -mod=mod
# lets its go.mod follow ours.
.PHONY: conformance
conformance: ## the stand-in against Prow's own Gangway code
	cd gangway/conformance && go test -mod=mod ./...

.PHONY: bench
bench: build ## the performance table, in about six minutes; BENCHFLAGS='-part PATTERN' for a part of it
	CGO_ENABLED=0 go run ./infra/bench $(BENCHFLAGS)

.PHONY: generate
generate: tools ## regenerate gangway/gangwaypb from gangway.proto
	cd gangway && PATH=$(TOOLS):$$PATH $(TOOLS)/buf generate

.PHONY: fmt
fmt: tools ## format the Go files
	$(TOOLS)/gofumpt -w functions gangway infra local shared

.PHONY: clean
clean: ## remove what was built; the tools in .cache stay
	rm -rf bin dist .cache/generated

.PHONY: tools
tools: ## install the pinned tools that lint needs into .cache/bin

# $(call tool,name,module,version,package below the module) installs one tool once per version. A copy of
# the same version that is already installed is taken as it is: building golangci-lint takes a minute or two.
define tool
tools: $(TOOLS)/.$(1)-$(3)
$(TOOLS)/.$(1)-$(3):
	@mkdir -p $(TOOLS)
	@have=$$$$(command -v $(1) || echo $$$$(go env GOPATH)/bin/$(1)); \
	if go version -m "$$$$have" 2>/dev/null | awk '$$$$1 == "mod" && $$$$2 == "$(2)" && $$$$3 == "$(3)" {ok = 1} END {exit !ok}'; \
	then cp "$$$$have" $(TOOLS)/$(1); \
	else echo "installing $(1) $(3)"; GOBIN=$(TOOLS) go install $(2)$(4)@$(3); fi
	@rm -f $(TOOLS)/.$(1)-* && touch $$@
endef
$(eval $(call tool,golangci-lint,github.com/golangci/golangci-lint/v2,v2.15.0,/cmd/golangci-lint))
$(eval $(call tool,buf,github.com/bufbuild/buf,v1.75.0,/cmd/buf))
$(eval $(call tool,protoc-gen-go,google.golang.org/protobuf,v1.36.11,/cmd/protoc-gen-go))
$(eval $(call tool,gofumpt,mvdan.cc/gofumpt,v0.12.0,))
