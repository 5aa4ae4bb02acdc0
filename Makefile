# kubetape: see README.md for the commands. Everything is built below build/ (or build/asan, build/tsan).
#
#   make          build/kubetape and build/kubetape.so        make check    build and run every test
#   make deps     install what is missing (Debian)            make interop  tests with a real control plane
#   make check-quick  what takes less than a minute of it      make compile_commands.json  for editors
#   make demo     a tour on a bundled tape                    make bench    measure, write build/bench.json
#   make crash    kill writers and fail disks, for long     make fuzz     for FUZZ_SECONDS each target
#   make mutants  read thousands of tapes that were changed at random
#   make zoo      sweep released controllers with known bugs     make hunt     sweep current ones
#   make clients  client libraries in many languages        make soak     the recorder and a control plane at full speed
#   make install  to PREFIX (/usr/local), below DESTDIR       make man      the manual pages
#   make packages .deb, tarball, image ... in build/dist     make check-packages  use each from a clean root
#   make bench-rivals  the recorder beside Go clients, kubectl and k8shark

VARIANT ?=
B := build$(if $(VARIANT),/$(VARIANT))

CC ?= gcc
PKG_CONFIG ?= pkg-config
PKG_LIBS := zlib libcurl libcjson sqlite3 libzstd libuv libnghttp2 openssl libfyaml libxxhash libedit libarchive
DEPS := gcc make pkg-config python3 python3-venv sqlite3 openssl git \
	libcurl4-openssl-dev libcjson-dev libsqlite3-dev libzstd-dev libuv1-dev libnghttp2-dev libssl-dev \
	libfyaml-dev libxxhash-dev libedit-dev libarchive-dev zlib1g-dev check zstd jq curl clang clang-format libclang-rt-dev mandoc pyflakes3 chromium firefox-esr

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wvla -Wstrict-prototypes -Wmissing-prototypes
WERROR ?= -Werror
# What the sanitizers watch is compiled in half the time so, and takes no longer to run.
OPT_asan := -O1 -g1
OPT_tsan := -O1 -g1
OPT ?= $(or $(OPT_$(VARIANT)),-O2 -g)
SANITIZE_asan := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
SANITIZE_tsan := -fsanitize=thread
SANITIZE_coverage := --coverage
SANITIZE_fuzz := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
SANITIZE := $(SANITIZE_$(VARIANT))
# The tables of the sanitizers are 8 MB of pointers. A program at a fixed address has them ready in its file; in one
# that may lie anywhere the loader fills them in at each start, which is a fifth of the time of a short run.
FIXED_asan := -no-pie

CFLAGS ?=
# The same program in whatever folder it is built: what debuggers read does not name it.
ALL_CFLAGS := -std=c11 -D_GNU_SOURCE -I. -fdebug-prefix-map=$(CURDIR)=. $(OPT) -fPIC -fvisibility=hidden $(WARN) $(WERROR) $(SANITIZE) $(CFLAGS)
# One shell call a run, and only once the packages are there.
PKG_CFLAGS = $(eval PKG_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(PKG_LIBS)))$(PKG_CFLAGS)
PKG_LDLIBS = $(eval PKG_LDLIBS := $(shell $(PKG_CONFIG) --libs $(PKG_LIBS)))$(PKG_LDLIBS)

BASE := $(wildcard schema/base/*.c)
TAPE := $(wildcard schema/tape/*.c)
SQL := $(wildcard schema/sql/*.c)
RUN := $(wildcard schema/run/*.c)
VIEW := $(wildcard schema/view/*.c)
ENGINES := $(wildcard recorder/*.c recorder/*/*.c replayer/*.c replayer/*/*.c)
TOOLS := $(wildcard tools/*.c tools/*/*.c)
object = $(patsubst %.c,$(B)/obj/%.o,$(1))
# Everything but main, for the tests to link with.
LIBRARY := $(call object,$(BASE) $(TAPE) $(SQL) $(RUN) $(VIEW) $(ENGINES) $(filter-out tools/main.c,$(TOOLS)))
CRASH := $(B)/crash/crash_tape $(B)/crash/rotate_tape $(B)/crash/week_tape $(B)/crash/fault_shim.so
UNIT_TESTS := $(patsubst tests/unit/%.c,$(B)/unit/%,$(wildcard tests/unit/test_*.c))
FUZZ_TARGETS := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_REPLAYS := $(patsubst %,$(B)/fuzz/replay_%,$(FUZZ_TARGETS))

.PHONY: FORCE all deps check check-quick programs check-unit check-bench bench-replay bench-rivals run-fuzzers check-python check-python-and-variants check-python-asan check-python-tsan lint format format-check check-clang analyze coverage fault-schema interop clients check-reports zoo hunt soak demo bench fuzz crash mutants sweep-calm clean
.DELETE_ON_ERROR:
.PRECIOUS: $(B)/obj/%.o $(B)/view/%

all: $(B)/kubetape $(B)/kubetape.so $(B)/kubectl-tape $(B)/kubectl_complete-tape

# kubectl finds its plug-ins by name on the PATH, `kubectl tape record ...`, and what completes their arguments.
$(B)/kubectl-tape $(B)/kubectl_complete-tape: $(B)/kubetape
	ln -sf kubetape $@

# Package names differ by what is there already: any kubectl will do for the tests.
deps:
	@tools/install-deps.sh $(DEPS) $(if $(shell command -v kubectl),,kubernetes-client)

# The tests of what has threads, for ThreadSanitizer. Those left out send the recorder hundreds of megabytes.
THREADED := --without test_record_hostile test_record_ test_events. test_replay_run test_replay_control test_replay_long_writes \
	test_view_data.Bundled test_view_data.Statements test_view_data.Access is_being_written test_view_desk.Answers

# Tests whose time is that of the programs that are swept: once is enough, under AddressSanitizer.
SWEEPING := $(addprefix --without ,test_sweep. test_sweep_patterns. test_sweep_counts. test_sweep_left. test_sweep_health. test_sweep_chance. \
	test_sweep_shards. test_shrink. test_testing_page.)

# Everything that needs nothing but Debian packages: as built, and again under the sanitizers. The recorder and
# the replay have further threads, so tests of them run under ThreadSanitizer too.
JOBS ?= $(shell nproc)
TEST_JOBS ?= $(shell echo $$((3 * $(JOBS))))  # Python tests mostly wait
check: deps
	$(MAKE) -j$(JOBS) programs
	$(MAKE) lint format-check check-clang analyze check-unit check-bench
	$(MAKE) check-python-and-variants
	$(MAKE) -j$(JOBS) VARIANT=asan programs
	$(MAKE) VARIANT=asan check-unit check-bench
	$(MAKE) -j$(JOBS) VARIANT=tsan all
	$(MAKE) -j2 check-python-asan check-python-tsan

# The tests as built; they wait more than they work, so the variants are compiled with the processor time they leave.
# What that comes to shows when their turn comes.
check-python-and-variants:
	{ nice $(MAKE) -j$(JOBS) VARIANT=asan programs; nice $(MAKE) -j$(JOBS) VARIANT=tsan all; } >build/variants.log 2>&1 & \
		$(MAKE) TESTS='$(SWEEPING)' check-python; result=$$?; wait; exit $$result

# Side by side, as both mostly wait. Not by the shell's `&`: what it starts ignores SIGINT, and so would the programs tested.
check-python-asan:
	$(MAKE) VARIANT=asan check-python
check-python-tsan:
	$(MAKE) VARIANT=tsan TESTS='$(THREADED)' check-python

# What to run while writing: under a minute.
check-quick:
	$(MAKE) -j$(JOBS) programs
	$(MAKE) lint check-unit

check-python: all $(B)/make_tape $(CRASH)
	$(if $(filter tsan,$(VARIANT)),TSAN_OPTIONS=suppressions=$(CURDIR)/tests/tsan/suppressions )KUBETAPE_BUILD=$(B) python3 tests/run_python.py -j $(TEST_JOBS) $(TESTS)

# All that the tests run.
programs: all $(UNIT_TESTS) $(FUZZ_REPLAYS) $(B)/make_tape $(CRASH)

lint:
	python3 tests/lint/lint.py
	pyflakes3 $$(tests/lint/sources python)

# The layout of .clang-format; what generators wrote stays as it is.
format:
	clang-format -i $$(tests/lint/sources c)
format-check:
	clang-format --dry-run --Werror $$(tests/lint/sources c)

# What another compiler says; nothing is built.
check-clang:
	tests/lint/sources c | grep '\.c$$' | xargs -P $(JOBS) -n 16 clang -std=c11 -D_GNU_SOURCE -I. -I$(B) $(WARN) -Werror \
		$(PKG_CFLAGS) -DVIEW_ASSETS='""' -fsyntax-only

# gcc's analyzer over what reads bytes of others: tapes, JSON, the wire. It does not see that loops fill arrays.
ANALYZED := schema/base schema/tape replayer/wire replayer/protobuf recorder recorder/push
analyze:
	ls $(ANALYZED:%=%/*.c) | xargs -P $(JOBS) -n 8 sh -c 'for f; do $(CC) -std=c11 -D_GNU_SOURCE -I. -I$(B) -O1 -fanalyzer \
		-Wno-analyzer-use-of-uninitialized-value -Werror $(PKG_CFLAGS) -c -o /dev/null "$$f" || failed=1; done; exit $${failed:-0}' sh

# Which lines the unit and Python tests run, by folder.
coverage:
	$(MAKE) -j$(JOBS) VARIANT=coverage OPT=-O1 programs
	$(MAKE) VARIANT=coverage OPT=-O1 check-unit check-python
	tests/lint/coverage build/coverage/obj

# The JSON Schema of fault files, from the tables of words; a test compares them.
fault-schema: $(B)/unit/test_fault_file
	KUBETAPE_WRITE_SCHEMA=1 $<

# For editors and clang's tools.
compile_commands.json: FORCE
	@git ls-files '*.c' | jq -nR --arg directory '$(CURDIR)' \
		--arg command '$(CC) $(ALL_CFLAGS) $(PKG_CFLAGS) -DVIEW_ASSETS=\"$(B)/view/\"' \
		'[inputs | {$$directory, file: ., command: "\($$command) -c \(.)"}]' >$@

interop: deps
	$(MAKE) all $(B)/make_tape
	tests/interop/run

# Client libraries in several languages and releases, unchanged, on replays of the bundled tape; needs no control plane,
# and leaves out, by name, what the machine has no tools for.
clients: all
	tests/interop/clients/run

# What a sweep writes for CI and code scanning, as programs of others read it: with the schemas that SARIF_SCHEMA
# (sarif-schema-2.1.0.json) and JUNIT_XSD (junit-10.xsd of Jenkins' xUnit plug-in) name, if they do.
check-reports: all $(B)/make_tape
	test -x $(B)/reports/bin/junitparser || { python3 -m venv $(B)/reports && \
		$(B)/reports/bin/pip --quiet install junitparser jsonschema rfc3987-syntax xmlschema; }
	KUBETAPE_BUILD=$(B) $(B)/reports/bin/python tests/run_python.py test_sweep_reports

# Released controllers that have a known bug, and the releases that mend it: sweep finds the one and leaves alone the other.
zoo: all
	tests/zoo/run

# Current controllers in small worlds: what goes wrong is to be read in their sources.
hunt: all
	tests/interop/build controlplane kwok
	tests/zoo/hunt

# Ten minutes of a control plane at its highest rate, beside etcd itself as the witness; the short form of it is
# one of the tests of `make interop`.
SOAK_S ?= 600
soak: deps
	$(MAKE) all
	KUBETAPE_SOAK_S=$(SOAK_S) tests/interop/run --reuse -k ASoak

demo: deps
	$(MAKE) all
	tools/demo.sh

$(B)/kubetape: $(LIBRARY) $(B)/obj/tools/main.o $(if $(filter tsan,$(VARIANT)),$(B)/obj/tests/tsan/first_wait.o)
	$(CC) $(ALL_CFLAGS) $(FIXED_$(VARIANT)) -o $@ $^ $(LDFLAGS) $(PKG_LDLIBS) -lm

# Nothing in it needs OpenSSL, nor what only sessions do. What is missing nevertheless is found when it is linked.
NOT_EXTENSION := schema/sql/session.c schema/sql/side_by_side.c schema/sql/run_tables.c
$(B)/kubetape.so: $(call object,$(BASE) $(filter-out schema/tape/redact%,$(TAPE)) $(filter-out $(NOT_EXTENSION),$(SQL)))
	$(CC) $(ALL_CFLAGS) -shared $(if $(VARIANT),,-Wl,-z,defs) -o $@ $^ $(LDFLAGS) $$($(PKG_CONFIG) --libs sqlite3 libzstd libxxhash) -lm

# What `kubetape --version` says of where it comes from: the commit, with a + if the sources differ from it. Sources that
# are no checkout are given it (COMMIT=...).
COMMIT ?= $(shell git describe --always --abbrev=12 --exclude='*' --dirty=+ 2>/dev/null || echo unknown)
$(B)/obj/tools/cli/version.o: ALL_CFLAGS += -DKUBETAPE_COMMIT='"$(COMMIT)"'
$(B)/obj/tools/cli/version.o: $(B)/commit
$(B)/commit: FORCE
	@mkdir -p $(@D)
	@echo '$(COMMIT)' | cmp -s - $@ || echo '$(COMMIT)' >$@

# The page of `kubetape view`: its modules joined into one script, everything compressed, and taken into the program.
PAGE := replayer/view/page
PAGE_MODULES := $(addprefix $(PAGE)/,model.js source.js file_source.js yaml.js timeline.js panes.js state_pane.js golden_pane.js desk_pane.js app.js)
$(B)/view/app.js: $(PAGE_MODULES)
	@mkdir -p $(@D)
	@sed '/^import /d; s/^export //' $^ >$@
$(B)/view/%: $(PAGE)/%
	@mkdir -p $(@D)
	@cp $< $@
$(B)/view/%.gz: $(B)/view/%
	@gzip -9nc $< >$@
$(B)/obj/replayer/view/assets.o: $(addprefix $(B)/view/,index.html.gz app.js.gz style.css.gz)
$(B)/obj/replayer/view/assets.o: ALL_CFLAGS += -DVIEW_ASSETS='"$(B)/view/"'

$(B)/obj/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(PKG_CFLAGS) -MMD -MP -c -o $@ $<

# Links a program with what it needs of the library, and keeps the names of those objects beside it: it is linked
# again when one of them changes, not when another does. $(1): further libraries or flags.
define link_with_library
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(FIXED_$(VARIANT)) -Wl,-Map=$@.map -o $@ $(filter $(B)/obj/tests/%.o,$^) $(B)/libkubetape.a $(LDFLAGS) $(PKG_LDLIBS) $(1) -lm
	@sed -n 's|^\($(B)/obj/[^ ]*\.o\).*|$@: \1\n\1:|p' $@.map >$@.d && rm $@.map
endef

$(B)/unit/%: $(B)/obj/tests/unit/%.o | $(B)/libkubetape.a
	$(call link_with_library,$$($(PKG_CONFIG) --libs check))

# The protobuf decoder as a filter; tests/interop/protobuf holds it against the Go types.
$(B)/protobuf_decode: $(B)/obj/tests/interop/protobuf/decoder/decode_main.o | $(B)/libkubetape.a
	$(link_with_library)

# Patches as a filter; tests/interop/patches holds them against those of Kubernetes.
$(B)/patch_filter: $(B)/obj/tests/interop/patches/filter/patch_main.o | $(B)/libkubetape.a
	$(link_with_library)

# Thin: objects of one name in several rooms stay apart by their paths.
$(B)/libkubetape.a: $(LIBRARY)
	rm -f $@
	ar rcsT $@ $^

# Writes small tapes for the wire and CLI tests.
$(B)/make_tape: $(B)/obj/tests/wire/make_tape.o | $(B)/libkubetape.a
	$(link_with_library)

# Writers to kill, and a shim that makes the disk fail under them. `make crash` kills them thousands of times and
# fails every call in turn; `make check` takes a quick look.
$(B)/crash/%: $(B)/obj/tests/crash/%.o | $(B)/libkubetape.a
	$(link_with_library)

$(B)/crash/fault_shim.so: tests/crash/fault_shim.c
	@mkdir -p $(@D)
	$(CC) -std=c11 -D_GNU_SOURCE $(OPT) -fPIC -shared $(WARN) $(WERROR) -o $@ $< -ldl

crash: deps
	$(MAKE) $(CRASH)
	KUBETAPE_CRASH=all KUBETAPE_BUILD=$(B) python3 tests/run_python.py test_crash test_rotation test_week

# Tapes changed at random, thousands of them, each read by all commands; `make check` takes a few.
MUTANTS ?= 3000
SEED ?= $(shell date +%s)
mutants: deps
	$(MAKE) -j$(JOBS) all VARIANT=asan
	KUBETAPE_MUTANTS=$(MUTANTS) KUBETAPE_SEED=$(SEED) KUBETAPE_MUTANT_READERS=100 KUBETAPE_BUILD=build/asan \
		python3 tests/run_python.py test_mutants

# Each mended program of tests/sweep swept again and again on a machine that is made busy: no fault may be a finding.
ROUNDS ?= 10
sweep-calm: all $(B)/make_tape
	KUBETAPE_BUILD=$(B) python3 tests/sweep/calm.py $(ROUNDS)

# Every program prints Check's own summary; under a sanitizer each runs in one process, so that leaks count.
# Behind them, every fuzz target reads its whole corpus once.
check-unit: $(UNIT_TESTS) $(FUZZ_REPLAYS)
	@{ printf '%s\n' $(UNIT_TESTS); \
		for name in $(FUZZ_TARGETS); do echo "$(B)/fuzz/replay_$$name tests/fuzz/corpus/$$name"; done; } | \
		xargs -d '\n' -P $(JOBS) -I{} sh -c 'out=$$($(if $(SANITIZE),CK_FORK=no) {} 2>&1); rc=$$?; \
			printf "%s\n" "$$out"; [ $$rc -eq 0 ] || { echo "failed: {}"; exit 1; }'

# A target is tests/fuzz/fuzz_NAME.c (crafted_tape.c is shared) with a corpus of small files in tests/fuzz/corpus/NAME/. `make fuzz` runs
# each for FUZZ_SECONDS (FUZZ=NAME for one alone); what it finds is kept in build/fuzz/.
$(B)/fuzz/replay_%: $(B)/obj/tests/fuzz/fuzz_%.o $(call object,tests/fuzz/replay_main.c tests/fuzz/crafted_tape.c) | $(B)/libkubetape.a
	$(link_with_library)

$(B)/fuzz/fuzz_%: $(B)/obj/tests/fuzz/fuzz_%.o $(call object,tests/fuzz/crafted_tape.c) | $(B)/libkubetape.a
	$(call link_with_library,-fsanitize=fuzzer)

FUZZ_SECONDS ?= 60
FUZZ ?= $(FUZZ_TARGETS)
fuzz:
	$(MAKE) VARIANT=fuzz CC=clang run-fuzzers

run-fuzzers: $(patsubst %,$(B)/fuzz/fuzz_%,$(FUZZ))
	@for target in $(FUZZ); do \
		echo "$$target: $(FUZZ_SECONDS) s"; mkdir -p build/fuzz/corpus/$$target; \
		$(B)/fuzz/fuzz_$$target -max_total_time=$(FUZZ_SECONDS) -timeout=10 -print_final_stats=1 \
			-verbosity=0 -artifact_prefix=build/fuzz/$$target- \
			build/fuzz/corpus/$$target tests/fuzz/corpus/$$target || exit 1; \
	done

# The stream is made once; `make bench BENCH_EVENTS=20000` after `make clean` is a quick look, BENCH=scan,
# ingest, read, replay, record, large, tee, sql, view or sweep a part of it. BENCH_TAPE=X.tape takes the events of a tape instead, such as
# one by tests/interop/record-bench-tape.
BENCH_EVENTS ?= 120000
BENCH_STREAM := $(or $(BENCH_TAPE),$(B)/bench/stream.ndjson)
# Those parts are Python programs of their own; the others are all one C program.
BENCH_PYTHON := replay record large tee sql view sweep
BENCH_C := $(if $(BENCH),$(filter-out $(BENCH_PYTHON),$(BENCH)),all)
bench: all bench-replay $(B)/bench/gen_stream $(if $(BENCH_C),$(B)/bench/bench $(if $(BENCH_TAPE),,$(BENCH_STREAM)))
	$(if $(BENCH_C),$(B)/bench/bench $(BENCH_STREAM) $(B)/bench $(B)/bench.json $(BENCH))
	for part in $(if $(BENCH),$(filter $(BENCH_PYTHON),$(BENCH)),$(BENCH_PYTHON)); do \
		python3 tests/bench/$$part.py $(B) $(B)/bench.json || exit; \
	done

# The recorder beside Go clients, kubectl and, with its kshrk on the PATH, k8shark, on one load; wants Go.
bench-rivals: bench-replay $(B)/bench/gen_stream
	tests/interop/build controlplane rawwatch lines
	tests/interop/bench-rivals $(B) $(B)/bench.json

# The programs that stand beside the replay and the recorder.
BENCH_PROGRAMS := $(addprefix $(B)/bench/,replay_watchers write_loop record_floor tee_road)
bench-replay: all $(B)/make_tape $(B)/bench/large_tape $(BENCH_PROGRAMS)
$(BENCH_PROGRAMS): $(B)/bench/%: tests/bench/%.c
	@mkdir -p $(@D)
	$(CC) -std=c11 -D_GNU_SOURCE $(OPT) $(WARN) $(WERROR) $(CFLAGS) -o $@ $< $(LDFLAGS) \
		$$($(PKG_CONFIG) --libs libcurl libnghttp2 openssl)

# A fortieth of it, for the sake of the comparisons: the tape and a plain table must answer alike.
check-bench: $(B)/bench/gen_stream $(B)/bench/bench
	$(B)/bench/gen_stream --events 3000 >$(B)/bench/small.ndjson
	$(B)/bench/bench $(B)/bench/small.ndjson $(B)/bench $(B)/bench/small.json >/dev/null

$(B)/bench/stream.ndjson: $(B)/bench/gen_stream
	$< --events $(BENCH_EVENTS) >$@

$(B)/bench/gen_stream: $(call object,$(wildcard tests/bench/gen*.c))
$(B)/bench/bench: $(call object,$(wildcard tests/bench/bench*.c))
$(B)/bench/large_tape: $(call object,tests/bench/large_tape.c)
$(B)/bench/gen_stream $(B)/bench/bench $(B)/bench/large_tape: | $(B)/libkubetape.a
	$(link_with_library)

# An object whose source was moved or removed would stay in programs that were linked with it, of every variant.
GONE := $(shell find build -path '*/obj/*.d' 2>/dev/null | sed 's,.*/obj/\(.*\)\.d$$,\1.c &,' | \
	while read -r source d; do [ -e "$$source" ] || echo "$$d"; done)
ifneq ($(GONE),)
$(shell rm -f $(GONE) $(GONE:.d=.o))
endif
-include $(shell find build -path build/deb -prune -o -name '*.d' -type f -print 2>/dev/null)

include tools/install.mk
include tools/deploy/packages.mk

clean:
	rm -rf build
