# sim.mk - the simulated driver: $B/sim/libcuda.so.1 and libnvidia-ml.so.1. Included by the main Makefile, or alone:
#   make -f tests/sim/sim.mk B=build sim
B ?= build
CC ?= gcc
SIM_DIR := $(dir $(lastword $(MAKEFILE_LIST)))
SIM_SRC := $(filter-out $(SIM_DIR)nvml.c,$(wildcard $(SIM_DIR)*.c))
SIM_OBJ := $(patsubst $(SIM_DIR)%.c,$B/sim/%.o,$(SIM_SRC))
# Bound to itself (-Bsymbolic): a library that is preloaded and exports the same names must not get in between.
SIM_CFLAGS := -std=c11 -D_GNU_SOURCE -O2 -g -fPIC -fvisibility=hidden -I$(SIM_DIR) -I$(SIM_DIR)../../include -Wall -Wextra -Wshadow -Wundef \
        -Wpointer-arith -Wstrict-prototypes -Wmissing-prototypes $(if $(WERROR),-Werror)

.PHONY: sim
sim: $B/sim/libcuda.so.1 $B/sim/libnvidia-ml.so.1

# As NVIDIA installs it: libcuda.so.1 is a link to a file that carries the driver's version in its name.
SIM_LIB := $B/sim/libcuda.so.580.65.06
$B/sim/libcuda.so.1: $(SIM_LIB)
	$Qln -sf $(<F) $@

$(SIM_LIB): $(SIM_OBJ)
	$(call say,LD,$@)
	$Q$(CC) -shared -Wl,-soname,libcuda.so.1 -Wl,-Bsymbolic -Wl,-z,relro,-z,now -o $@ $^ -llz4 -lzstd -lpthread
	$Qln -sf libcuda.so.1 $(@D)/libcuda.so

$B/sim/libnvidia-ml.so.1: $B/sim/nvml.o
	$(call say,LD,$@)
	$Q$(CC) -shared -Wl,-soname,libnvidia-ml.so.1 -Wl,-Bsymbolic -o $@ $^

$B/sim/%.o: $(SIM_DIR)%.c
	$(call say,CC,$<)
	$Qmkdir -p $(@D) && $(CC) $(SIM_CFLAGS) -MMD -MP -c -o $@ $<

-include $(wildcard $B/sim/*.d)
