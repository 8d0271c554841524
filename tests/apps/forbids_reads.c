// forbids_reads.c - a library that refuses process_vm_readv, as some sandboxes do.
#include <errno.h>
#include <sys/types.h>

struct iovec;
ssize_t process_vm_readv(pid_t pid, const struct iovec *to, unsigned long n, const struct iovec *from, unsigned long m,
                         unsigned long flags)
{
    (void)pid, (void)to, (void)n, (void)from, (void)m, (void)flags;
    errno = EPERM;
    return -1;
}
