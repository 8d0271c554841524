// sandbox.c - becomes a program under a seccomp filter that answers ERROR to one system call: sandbox CALL ERROR
// PROGRAM ARGUMENT... CALL is its number; "process_vm_readv" is what the default profiles of older container engines
// forbid.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// The calls that the library makes while it records.
static const struct {
    const char *name;
    int number;
} calls[] = {{"process_vm_readv", SYS_process_vm_readv},
             {"pwrite64", SYS_pwrite64},
             {"fcntl", SYS_fcntl},
             {"fstatfs", SYS_fstatfs},
             {"readlinkat", SYS_readlinkat},
#ifdef SYS_readlink
             {"readlink", SYS_readlink},
             {"mkdir", SYS_mkdir},
#endif
             {"mkdirat", SYS_mkdirat},
             {"getcwd", SYS_getcwd},
             {"uname", SYS_uname},
             {"prlimit64", SYS_prlimit64},
             {"gettid", SYS_gettid},
             {"pipe2", SYS_pipe2},
             {"madvise", SYS_madvise}};

static int number_of(const char *name)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (!strcmp(calls[i].name, name)) return calls[i].number;
    exit(8);
}

int main(int argc, char **argv)
{
    if (argc < 4) return 9;
    unsigned error = (unsigned)atoi(argv[2]) & SECCOMP_RET_DATA, number = (unsigned)number_of(argv[1]);
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        return perror("sandbox"), 9;
    execv(argv[3], argv + 3);
    return 9;
}
