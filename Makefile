# kubetape: see README.md for the commands. Everything is built below build/ (or build/asan, build/tsan).
#
#   make          build/kubetape and build/kubetape.so        make check    build and run every test
#   make deps     install what is missing (Debian)            make interop  tests with a real control plane
#   make demo     a tour on a bundled tape                    make bench    measure, write build/bench.json

VARIANT ?=
B := build$(if $(VARIANT),/$(VARIANT))

CC ?= gcc
PKG_LIBS := libcurl libcjson sqlite3 libzstd libuv libnghttp2 openssl libfyaml libxxhash
DEPS := gcc make pkg-config python3 sqlite3 openssl git \
	libcurl4-openssl-dev libcjson-dev libsqlite3-dev libzstd-dev libuv1-dev libnghttp2-dev libssl-dev \
	libfyaml-dev libxxhash-dev check zstd jq curl

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wvla -Wstrict-prototypes -Wmissing-prototypes
WERROR ?= -Werror
OPT ?= -O2 -g
SANITIZE_asan := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
SANITIZE_tsan := -fsanitize=thread
SANITIZE := $(SANITIZE_$(VARIANT))

CFLAGS ?=
ALL_CFLAGS := -std=c11 -D_GNU_SOURCE -I. $(OPT) -fPIC -fvisibility=hidden $(WARN) $(WERROR) $(SANITIZE) $(CFLAGS)
# One shell call a run, and only once the packages are there.
PKG_CFLAGS = $(eval PKG_CFLAGS := $(shell pkg-config --cflags $(PKG_LIBS)))$(PKG_CFLAGS)
PKG_LDLIBS = $(eval PKG_LDLIBS := $(shell pkg-config --libs $(PKG_LIBS)))$(PKG_LDLIBS)

BASE := $(wildcard schema/base/*.c)
TAPE := $(wildcard schema/tape/*.c)
SQL := $(wildcard schema/sql/*.c)
ENGINES := $(wildcard recorder/*.c) $(wildcard replayer/*.c)
TOOLS := $(wildcard tools/*.c)
object = $(patsubst %.c,$(B)/obj/%.o,$(1))
# Everything but main, for the tests to link with.
LIBRARY := $(call object,$(BASE) $(TAPE) $(SQL) $(ENGINES) $(filter-out tools/main.c,$(TOOLS)))
UNIT_TESTS := $(patsubst tests/unit/%.c,$(B)/unit/%,$(wildcard tests/unit/test_*.c))

.PHONY: all deps check check-unit check-python check-sanitized lint interop demo bench fuzz install clean
.DELETE_ON_ERROR:

all: $(B)/kubetape $(B)/kubetape.so

$(B)/kubetape: $(LIBRARY) $(B)/obj/tools/main.o
	$(CC) $(ALL_CFLAGS) -o $@ $^ $(LDFLAGS) $(PKG_LDLIBS) -lm

$(B)/kubetape.so: $(call object,$(BASE) $(TAPE) $(SQL))
	$(CC) $(ALL_CFLAGS) -shared -o $@ $^ $(LDFLAGS) $$(pkg-config --libs sqlite3 libzstd libxxhash) -lm

$(B)/obj/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(PKG_CFLAGS) -MMD -MP -c -o $@ $<

$(B)/unit/%: tests/unit/%.c $(B)/libkubetape.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(PKG_CFLAGS) $$(pkg-config --cflags check) -MMD -MP -o $@ $< $(B)/libkubetape.a \
		$(LDFLAGS) $(PKG_LDLIBS) $$(pkg-config --libs check) -lm

$(B)/libkubetape.a: $(LIBRARY)
	rm -f $@
	ar rcs $@ $^

# Every program prints Check's own summary; under a sanitizer each runs in one process, so that leaks count.
check-unit: $(UNIT_TESTS)
	@failed=; for test in $(UNIT_TESTS); do \
		$(if $(SANITIZE),CK_FORK=no) $$test || failed="$$failed $$test"; \
	done; [ -z "$$failed" ] || { echo "failed:$$failed"; exit 1; }

-include $(shell find build -name '*.d' 2>/dev/null)

clean:
	rm -rf build
