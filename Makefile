# Makefile - builds build/libnokernel.so and build/nokernel. `make help` lists targets and switches.

VERSION := 0.1.0
B ?= build

# ---- switches
CC ?= gcc
CFLAGS ?= -O2 -g
SAN ?=
COV ?=
V ?=
WERROR ?=

WARN := -Wall -Wextra -Wconversion -Wno-sign-conversion -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wformat=2 \
        -Wpointer-arith -Wvla -Wundef $(if $(WERROR),-Werror)
ALL_CFLAGS := -std=c11 -fPIC -fvisibility=hidden -ffunction-sections -ftls-model=initial-exec -Iinclude -D_FORTIFY_SOURCE=2 \
        -DNK_VERSION='"$(VERSION)"' $(WARN) $(CFLAGS)
ifneq ($(SAN),)
  B := build-$(subst $(empty) ,-,$(subst $(comma),-,$(SAN)))
  SANFLAGS := -fsanitize=$(SAN) -fno-omit-frame-pointer -U_FORTIFY_SOURCE
endif
ifneq ($(COV),)
  B := build-cov
  SANFLAGS += --coverage -O0
endif
Q := $(if $(V),,@)
say = $(if $(V),,@echo "  $(1)  $(2)")

# ---- files
comma := ,
# Linked statically into the library: a host must not get another liblz4 or libzstd because of us.
LZ4_A := $(shell $(CC) -print-file-name=liblz4.a)
ZSTD_A := $(shell $(CC) -print-file-name=libzstd.a)
LIB_SRC := $(filter-out src/cli/%,$(wildcard src/*/*.c))
LIB_OBJ := $(LIB_SRC:%.c=$B/%.o)
CLI_OBJ := $(patsubst %.c,$B/%.o,$(wildcard src/cli/*.c))
PRE_OBJ := $(patsubst %.c,$B/%.o,$(wildcard preload/*.c)) $(patsubst %.S,$B/%.o,$(wildcard preload/*.S))
# The hook on dlsym runs before a sanitizer's own start-up: these two are never sanitized.
PLAIN := $B/preload/hook_lookup.o $B/preload/resolve.o
UNIT := $(patsubst tests/unit/%.c,$B/unit/%,$(wildcard tests/unit/test_*.c))

.PHONY: all
all: $B/libnokernel.so $B/nokernel

$B/libnk.a: $(LIB_OBJ)
	$(call say,AR,$@)
	$Qrm -f $@ && ar rcs $@ $^

$B/%.o: %.c
	$(call say,CC,$<)
	$Qmkdir -p $(@D) && $(CC) $(ALL_CFLAGS) $(if $(filter $@,$(PLAIN)),,$(SANFLAGS)) -MMD -MP -c -o $@ $<

$B/%.o: %.S
	$Qmkdir -p $(@D) && $(CC) -c -o $@ $<

$B/unit/%: tests/unit/%.c $B/libnk.a
	$(call say,CC,$<)
	$Qmkdir -p $(@D) && $(CC) $(ALL_CFLAGS) $(SANFLAGS) -MMD -MP -o $@ $< $B/libnk.a -lcmocka -llz4 -lzstd -ldl -lpthread

.PHONY: unit
unit: $(UNIT)
	$Qfor t in $(UNIT); do $$t || exit 1; done

# What the library shows to others: the hooked functions of the list, dlsym, and the ways out.
$B/exports.map: include/driver/entries.def
	$Qmkdir -p $(@D) && { echo '{ global: dlsym; _exit; _Exit;'; \
	  sed -nE 's/^NK_ENTRY\([A-Z]+, (HAND|PROBE|WAIT), [^,]+, ([A-Za-z0-9_]+),.*/  \2;/p' $<; \
	  echo 'local: *; };'; } > $@

$B/libnokernel.so: $(PRE_OBJ) $B/libnk.a $B/exports.map
	$(call say,LD,$@)
	$Q$(CC) -shared $(SANFLAGS) -o $@ $(PRE_OBJ) $B/libnk.a $(LZ4_A) $(ZSTD_A) -ldl -lpthread \
	  -Wl,--version-script=$B/exports.map -Wl,--exclude-libs,ALL -Wl,-Bsymbolic-functions -Wl,--gc-sections \
	  $(if $(SANFLAGS),,-Wl$(comma)-z$(comma)defs) -Wl,-z,now -Wl,-z,relro -Wl,-soname,libnokernel.so

$B/nokernel: $(CLI_OBJ) $B/libnk.a
	$(call say,LD,$@)
	$Q$(CC) $(SANFLAGS) -o $@ $(CLI_OBJ) $B/libnk.a -larchive -ljansson -llz4 -lzstd -ldl -lpthread

clean:
	rm -rf build build-*
.PHONY: clean

-include $(shell find $B -name '*.d' 2>/dev/null)
