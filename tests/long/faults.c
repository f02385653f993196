/* Faults while files are saved, for a process that has this library in LD_PRELOAD.

   Calls of write on temporary files of lveg, of fsync, and of rename are counted. Those with the numbers from `first` to
   `last` fail with an error number, or kill the process: a write in the middle, anything else before it happens. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static long calls, first, last;
static int error;

void arm(long from, long to, int number) {
    calls = 0;
    first = from;
    last = to;
    error = number;
}

long counted(void) { return calls; }

static int is_due(void) {
    long number = __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
    return first <= number && number <= last;
}

static int strike(void) {
    if (!error) {
        kill(getpid(), SIGKILL);
        for (;;) pause();
    }
    errno = error;
    return -1;
}

static int is_saved(int file) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size < 0) return 0;
    path[size] = 0;
    return strstr(path, "/.lveg-") != NULL;
}

ssize_t write(int file, const void *bytes, size_t size) {
    static ssize_t (*real)(int, const void *, size_t);
    if (!real) real = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    if (file > 2 && is_saved(file) && is_due()) {
        if (!error) real(file, bytes, size / 2);
        return strike();
    }
    return real(file, bytes, size);
}

int fsync(int file) {
    static int (*real)(int);
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    return is_due() ? strike() : real(file);
}

int rename(const char *from, const char *to) {
    static int (*real)(const char *, const char *);
    if (!real) real = (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");
    if (strstr(from, ".lveg-") || strstr(to, ".previous"))
        if (is_due()) return strike();
    return real(from, to);
}
