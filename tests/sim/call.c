// call.c - what happens around each call: the log (SIM_LOG), injected failures (SIM_FAIL) and delays (SIM_SLOW), "not
// initialised".
#include "sim.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

_Atomic int sim_gate = GATE_BOOT | GATE_INIT;
_Thread_local bool sim_per_thread;
_Thread_local struct sim_stream *sim_last_stream;
static _Thread_local int late_code; // of the running call: the error that its work will end with
static int log_fd = -1;

// One element of SIM_FAIL: NAME[@N][+]=CODE fails the call, NAME[@N][+]~CODE lets it succeed and its work fail later.
static struct rule {
    char name[96];
    int nth; // 1 = the first call; 0 = every call
    bool onward, late;
    int code;
    _Atomic int calls;
} rules[16];
static int rule_count;

static bool read_rule(const char *text, struct rule *rule)
{
    size_t length = strcspn(text, "@=~+,");
    if (length == 0 || length >= sizeof rule->name) return false;
    memcpy(rule->name, text, length);
    text += length;
    if (*text == '@') rule->nth = (int)strtol(text + 1, (char **)&text, 10);
    if (*text == '+') rule->onward = true, text++;
    rule->late = *text == '~';
    if (*text != '=' && *text != '~') return false;
    rule->code = atoi(text + 1);
    return rule->code > 0;
}

static void read_rules(const char *text)
{
    for (; text && *text && rule_count < 16; text += strcspn(text, ","), text += *text == ',') {
        if (read_rule(text, &rules[rule_count]))
            rule_count++;
        else
            fprintf(stderr, "sim: SIM_FAIL has an element that cannot be read: %s\n", text);
    }
}

// SIM_SLOW=NAME=NS,...: each call of it takes so much longer.
static struct slow {
    char name[96];
    uint64_t ns;
} slow[4];
static int slow_count;

static void read_slow(const char *text)
{
    for (; text && *text && slow_count < 4; text += strcspn(text, ","), text += *text == ',') {
        size_t length = strcspn(text, "=,");
        if (text[length] != '=' || length >= sizeof slow->name) {
            fprintf(stderr, "sim: SIM_SLOW has an element that cannot be read: %s\n", text);
            continue;
        }
        memcpy(slow[slow_count].name, text, length);
        slow[slow_count++].ns = strtoull(text + length + 1, NULL, 10);
    }
}

// A rule for cuMemAlloc is also one for cuMemAlloc_v2, and one for cuLaunchKernel also one for cuLaunchKernel_ptsz.
static bool names_match(const char *rule, const char *called)
{
    size_t length = strlen(rule);
    if (strncmp(rule, called, length) != 0) return false;
    called += length;
    if (called[0] == '_' && called[1] == 'v' && isdigit((unsigned char)called[2]))
        called += 2 + strspn(called + 2, "0123456789");
    return *called == 0 || strcmp(called, "_ptsz") == 0 || strcmp(called, "_ptds") == 0;
}

static void take_time(const char *called)
{
    for (int i = 0; i < slow_count; i++)
        if (names_match(slow[i].name, called))
            for (uint64_t until = sim_now() + slow[i].ns; sim_now() < until;) continue;
}

static int injected(const char *called)
{
    for (int i = 0; i < rule_count; i++) {
        struct rule *rule = &rules[i];
        if (!names_match(rule->name, called)) continue;
        int call = atomic_fetch_add(&rule->calls, 1) + 1;
        if (rule->nth != 0 && call != rule->nth && !(rule->onward && call > rule->nth)) continue;
        if (!rule->late) return rule->code;
        late_code = rule->code;
    }
    return OK;
}

bool sim_enter(const struct sim_site *site, int *result)
{
    sim_boot();
    int gate = atomic_load(&sim_gate);
    late_code = OK;
    if ((gate & (GATE_INIT | GATE_FORKED)) && !site->early) {
        *result = NOT_INITIALIZED;
        return true;
    }
    sim_last_stream = NULL;
    take_time(site->name);
    *result = injected(site->name);
    if (*result == OK) return false;
    struct sim_context *context = sim_current();
    if (context && sim_is_sticky(*result)) sim_context_fail(context, *result);
    return true;
}

static void write_line(const char *line, size_t length)
{
    if (log_fd >= 0 && write(log_fd, line, length) < 0) log_fd = -1;
}

static int describe(char *to, size_t room, const struct sim_arg *arg, bool succeeded)
{
    const char *name;
    switch (arg->kind) {
    case 'd':
        return snprintf(to, room, "%d", (int)arg->value);
    case 's':
        return arg->value ? snprintf(to, room, "\"%.200s\"", (const char *)arg->value) : snprintf(to, room, "NULL");
    case 'f':
        name = sim_function_name((const void *)arg->value);
        return snprintf(to, room, "%#lx:%.200s", (unsigned long)arg->value, name ? name : "?");
    case 'o':
        if (succeeded && arg->value) return snprintf(to, room, "->%#lx", *(const unsigned long *)arg->value);
        break;
    default:
        break;
    }
    return snprintf(to, room, "%#lx", (unsigned long)arg->value);
}

int sim_late_take(void)
{
    int code = late_code;
    late_code = OK;
    return code;
}

int sim_leave(const struct sim_site *site, const struct sim_arg *args, int count, int result)
{
    if (late_code != OK && result == OK && sim_last_stream) sim_stream_kernel(sim_last_stream, late_code);
    late_code = OK;
    if (log_fd < 0) return result;
    char line[2048];
    size_t at = (size_t)snprintf(line, sizeof line, "%d %ld %s(", (int)getpid(), syscall(SYS_gettid), site->name);
    for (int i = 0; i < count && at < sizeof line - 600; i++) {
        if (i > 0) at += (size_t)snprintf(line + at, sizeof line - at, ", ");
        at += (size_t)describe(line + at, sizeof line - at, &args[i], result == OK);
    }
    const char *name = sim_result_name(result);
    at += (size_t)snprintf(line + at, sizeof line - at, ") = %d%s%s\n", result, result ? " " : "",
                           !result ? ""
                           : name  ? name
                                   : "?");
    write_line(line, at);
    return result;
}

void sim_note(const char *format, ...)
{
    if (log_fd < 0) return;
    char line[1024];
    int at = snprintf(line, sizeof line, "%d %ld ", (int)getpid(), syscall(SYS_gettid));
    va_list args;
    va_start(args, format);
    int more = vsnprintf(line + at, sizeof line - (size_t)at - 1, format, args);
    va_end(args);
    size_t length = (size_t)at + (size_t)more;
    if (length > sizeof line - 2) length = sizeof line - 2;
    line[length++] = '\n';
    write_line(line, length);
}

// As with a real driver, a process that was forked after cuInit can do nothing with CUDA.
static void after_fork(void)
{
    if ((atomic_load(&sim_gate) & GATE_INIT) == 0) atomic_fetch_or(&sim_gate, GATE_FORKED);
}

void sim_call_setup(void)
{
    read_rules(sim_set.fail);
    read_slow(sim_set.slow);
    if (sim_set.log && strcmp(sim_set.log, "-") == 0)
        log_fd = dup(2);
    else if (sim_set.log && *sim_set.log)
        log_fd = open(sim_set.log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (sim_set.log && *sim_set.log && log_fd < 0) fprintf(stderr, "sim: cannot write SIM_LOG=%s\n", sim_set.log);
    if (rule_count > 0 || slow_count > 0 || log_fd >= 0) atomic_fetch_or(&sim_gate, GATE_WATCH);
    pthread_atfork(NULL, NULL, after_fork);
}
