# Makefile - builds build/libnokernel.so and build/nokernel, and runs every test. `make help` lists targets and switches.

VERSION := 0.1.0
B ?= build

# ---- switches
CC ?= gcc
CFLAGS ?= -O2 -g
PREFIX ?= /usr/local
SAN ?=
COV ?=
WERROR ?=
V ?=

comma := ,
empty :=
WARN := -Wall -Wextra -Wconversion -Wno-sign-conversion -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wformat=2 \
        -Wpointer-arith -Wvla -Wundef $(if $(WERROR),-Werror)
ALL_CFLAGS := -std=c11 -fPIC -fvisibility=hidden -ffunction-sections -ftls-model=initial-exec -Iinclude \
        -D_FORTIFY_SOURCE=2 -DNK_VERSION='"$(VERSION)"' $(WARN) $(CFLAGS)
ifneq ($(SAN),)
  B := build-$(subst $(comma),-,$(SAN))
  SANFLAGS := -fsanitize=$(SAN) -fno-omit-frame-pointer -U_FORTIFY_SOURCE
endif
ifneq ($(COV),)
  B := build-cov
  SANFLAGS += --coverage -O0 -U_FORTIFY_SOURCE
endif
Q := $(if $(V),,@)
say = $(if $(V),,@echo "  $(1)  $(2)")
export B
JOBS := $(shell nproc 2>/dev/null || echo 2)

# ---- files
LIB_OBJ := $(patsubst %.c,$B/%.o,$(filter-out src/cli/%,$(wildcard src/*/*.c)))
CLI_OBJ := $(patsubst %.c,$B/%.o,$(wildcard src/cli/*.c))
PRE_OBJ := $(patsubst %.c,$B/%.o,$(wildcard preload/*.c))
UNIT := $(patsubst tests/unit/%.c,$B/unit/%,$(wildcard tests/unit/test_*.c))
# The hook on dlsym runs before a sanitizer's own start-up: these two are never sanitized.
PLAIN := $B/preload/hook_lookup.o $B/preload/resolve.o
# Linked statically into the library: a host must not get another liblz4 or libzstd because of us.
LZ4_A = $(shell $(CC) -print-file-name=liblz4.a)
ZSTD_A = $(shell $(CC) -print-file-name=libzstd.a)
# ISA-L (libisal-dev) inflates wheels twice as fast as zlib. Without it they are read through libarchive.
ISAL := $(if $(wildcard $(shell $(CC) -print-file-name=libisal.so)),-lisal)
ALL_CFLAGS += $(if $(ISAL),-DNK_ISAL)

.PHONY: all
all: $B/libnokernel.so $B/nokernel

$B/libnk.a: $(LIB_OBJ) $B/knowledge.o
	$(call say,AR,$@)
	$Qrm -f $@ && ar rcs $@ $^

$B/%.o: %.c
	$(call say,CC,$<)
	$Qmkdir -p $(@D) && $(CC) $(ALL_CFLAGS) $(if $(filter $@,$(PLAIN)),,$(SANFLAGS)) -MMD -MP -c -o $@ $<

# The tables of what runs where become part of the program.
$B/knowledge.c: scripts/embed $(wildcard knowledge/*.tsv)
	$Qmkdir -p $(@D) && { scripts/embed $(wordlist 2,99,$^) > $@ || { rm -f $@; false; }; }
$B/knowledge.o: $B/knowledge.c
	$Q$(CC) $(ALL_CFLAGS) -fdata-sections $(SANFLAGS) -MMD -MP -c -o $@ $<

# What the library shows to others: the hooked functions of the list, dlsym, and the ways out.
$B/exports.map: include/driver/entries.def Makefile
	$Qmkdir -p $(@D) && { echo '{ global: dlsym; _exit; _Exit; quick_exit;'; \
	  sed -nE 's/^NK_ENTRY\([A-Z]+, (HAND|PROBE|WAIT), [^,]+, ([A-Za-z0-9_]+),.*/  \2;/p' $<; \
	  echo 'local: *; };'; } > $@

$B/libnokernel.so: $(PRE_OBJ) $B/libnk.a $B/exports.map
	$(call say,LD,$@)
	$Q$(CC) -shared $(SANFLAGS) -o $@ $(PRE_OBJ) $B/libnk.a $(LZ4_A) $(ZSTD_A) -ldl -lpthread \
	  -Wl,--version-script=$B/exports.map -Wl,--exclude-libs,ALL -Wl,-Bsymbolic-functions -Wl,--gc-sections \
	  $(if $(SANFLAGS),,-Wl$(comma)-z$(comma)defs) -Wl,-z,now -Wl,-z,relro -Wl,-soname,libnokernel.so

$B/nokernel: $(CLI_OBJ) $B/libnk.a
	$(call say,LD,$@)
	$Q$(CC) $(SANFLAGS) -o $@ $(CLI_OBJ) $B/libnk.a $(ISAL) -ljansson -llz4 -lzstd -ldl -lpthread
	$(if $(ISAL),,@echo '  NOTE  ISA-L (Debian: libisal-dev) is not there: wheels are read at half the speed')

$B/unit/%: tests/unit/%.c $B/libnk.a
	$(call say,CC,$<)
	$Qmkdir -p $(@D) && $(CC) $(ALL_CFLAGS) $(SANFLAGS) -MMD -MP -o $@ $< $B/libnk.a $(ISAL) -lcmocka -ljansson -llz4 -lzstd \
	  -ldl -lpthread

include tests/sim/sim.mk

-include $(shell find $B -name '*.d' 2>/dev/null)

# ---- tests
TORCH_TESTS = tests/e2e/test_torch*.py
APP_TESTS = tests/e2e/test_app*.py
WHEEL_TESTS = tests/wheels/test_*.py
E2E_TESTS = $(filter-out $(wildcard $(TORCH_TESTS) $(APP_TESTS)),$(wildcard tests/e2e/test_*.py)) \
            $(wildcard tests/sim/selftest/test_*.py)

.PHONY: unit unit-programs lint fuzz sim e2e check check-apps check-abi demo bench
unit-programs: $(UNIT)

unit: $(UNIT)
	$Qscripts/run-unit $(UNIT)

lint:
	$Qscripts/check-layers && scripts/check-sizes && scripts/check-words && scripts/check-format

# A short run of each fuzz target; FUZZ_SECONDS=600 for a long one.
fuzz:
	$Qscripts/run-fuzz $(or $(FUZZ_SECONDS),5)

e2e: all sim
	$Qscripts/run-pytest $(E2E_TESTS)

# Everything but the large applications. Each runner ends with one line that sums up.
check:
	$Qscripts/setup check && scripts/get-runtimes && scripts/get-runtimes cublas && scripts/get-wheels check && scripts/get-readers && { scripts/get-torch cuda12 cuda13 || [ $$? = 3 ]; }
	$Q$(MAKE) --no-print-directory -j$(JOBS) WERROR=1 all sim $(UNIT)
	$Q$(MAKE) --no-print-directory lint
	$Q$(MAKE) --no-print-directory unit
	$Q$(MAKE) --no-print-directory fuzz
	$Q$(MAKE) --no-print-directory -j$(JOBS) SAN=address,undefined all sim unit-programs
	$Q$(MAKE) --no-print-directory SAN=address,undefined unit
	$Q$(MAKE) --no-print-directory SAN=address,undefined check-sanitized
	$Q$(MAKE) --no-print-directory -j$(JOBS) SAN=thread all sim
	$Q$(MAKE) --no-print-directory SAN=thread check-sanitized
	$QNOKERNEL_MUST_RUN=1 scripts/run-pytest $(E2E_TESTS) $(TORCH_TESTS)
	$QNOKERNEL_MUST_RUN=1 NOKERNEL_WHEELS=check scripts/run-pytest $(WHEEL_TESTS)

# The library with a sanitizer under fixture programs (address,undefined: all hooks; thread: launches from many threads).
.PHONY: check-sanitized
check-sanitized: all sim
	$QNOKERNEL_MUST_RUN=1 scripts/run-pytest $(if $(filter thread,$(SAN)),tests/e2e/test_host.py -k thread,$(E2E_TESTS) -m 'sanitized and not plain')

# Real applications: about 5 GB of downloads. (3: a set has no wheel for this Python, which was said.)
check-apps:
	$Qscripts/setup apps && { scripts/get-apps || [ $$? = 3 ]; }
	$Q$(MAKE) --no-print-directory -j$(JOBS) WERROR=1 all sim
	$QNOKERNEL_MUST_RUN=1 scripts/run-pytest $(APP_TESTS)

# Scan against an independent census of real wheels (3 GB of downloads) and against cuobjdump.
.PHONY: check-wheels
check-wheels:
	$Qscripts/setup check && scripts/get-wheels && { scripts/get-torch cuda12 silent || [ $$? = 3 ]; }
	$Q$(MAKE) --no-print-directory -j$(JOBS) all sim
	$Qscripts/run-pytest $(WHEEL_TESTS)

# The same for aarch64, cross-compiled and emulated: on an x86-64 Debian only.
AARCH64_ROOT := $(or $(NOKERNEL_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/nokernel)/aarch64/root
AARCH64 := B=$B-aarch64 CC="aarch64-linux-gnu-gcc --sysroot=$(AARCH64_ROOT)" EMULATOR="qemu-aarch64-static -L $(AARCH64_ROOT)"
.PHONY: check-aarch64
check-aarch64:
	$Qscripts/setup check && scripts/get-runtimes && scripts/get-aarch64
	$Q$(MAKE) --no-print-directory -j$(JOBS) $(AARCH64) WERROR=1 all sim unit-programs
	$Q$(MAKE) --no-print-directory $(AARCH64) unit
	$QB=$B-aarch64 NOKERNEL_MUST_RUN=1 scripts/run-pytest tests/aarch64

# The main job: a real training script on a real PyTorch wheel that has no image for the GPU.
demo:
	$Qscripts/setup check
	$Q$(MAKE) --no-print-directory -j$(JOBS) all sim
	$Qscripts/demo

# Compares abi.h and entries.def with NVIDIA's headers where there are any.
check-abi:
	$Qscripts/check-abi

bench: all sim
	$Qtests/bench/run && tests/bench/modes && tests/bench/step && tests/bench/failing && tests/bench/merge && tests/bench/doctor && tests/bench/scan

# ---- the rest
.PHONY: install help clean
install: all
	install -D -m 755 $B/libnokernel.so $(DESTDIR)$(PREFIX)/lib/libnokernel.so
	install -D -m 755 $B/nokernel $(DESTDIR)$(PREFIX)/bin/nokernel
	for page in src/cli/*.1; do install -D -m 644 $$page $(DESTDIR)$(PREFIX)/share/man/man1/$${page##*/}; done

clean:
	rm -rf build build-*

help:
	@echo 'make             build/libnokernel.so and build/nokernel; no network, no CUDA toolkit'
	@echo 'make demo        a real PyTorch program that fails, explained (sets up what it needs; 0.7 GB, once)'
	@echo 'make check       every test but the large applications (sets up what it needs; 2 GB, once)'
	@echo 'make check-apps  real applications (5 GB, once)'
	@echo 'make check-wheels  scan against a census of 29 real wheels (3 GB, once)'
	@echo 'make check-aarch64  cross-compiled and emulated (200 MB, once; Debian)'
	@echo 'make unit        unit tests            make e2e    fixture programs on the simulated driver'
	@echo 'make fuzz        a short fuzz run      make lint   layers, sizes, words, format'
	@echo 'make bench       what the library costs, as ratios'
	@echo 'make check-abi   our declarations against NVIDIA headers, where installed'
	@echo 'make install     to PREFIX=$(PREFIX)'
	@echo 'Switches: CC=clang  SAN=address,undefined or thread  COV=1  WERROR=1  V=1  B=folder  CFLAGS=...'
