// nvml.c - placeholder until the NVML double is written below.
int nvmlInit_v2(void);
__attribute__((visibility("default"))) int nvmlInit_v2(void) { return 0; }
