/* Stands between a process and its files below WATCHED_DISK: writes down what is done to them, in order, and lets calls
   fail. For LD_PRELOAD.

   WATCHED_DISK_RECORD  each call that changed a file is appended here: a `struct note`, then its path or its bytes.
   WATCHED_DISK_RULES   which calls fail, and how: eight times `struct rule`, mapped, so that a test changes them while
                        the process runs.

   A call and its note are one step: the record's order is the order in which things happened. Memory that is mapped is
   not seen; SQLite maps only its index of the log (-shm), which it makes anew after every crash. Calls relative to a
   directory's descriptor (openat and its kind) are not seen either; the product uses none on its durable files. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { OPEN = 1, WRITE, TRUNCATE, SYNC, CLOSE, RENAME, UNLINK, MKDIR, RMDIR, BEGIN };
enum { FAIL, LIE, HALF, WAIT };

struct note {
    uint32_t bytes; /* of what follows */
    uint32_t call;
    int32_t process;
    int32_t file; /* the descriptor */
    int32_t flags;
    int32_t error; /* a sync that failed says so; other calls that fail change nothing and leave no note */
    int64_t offset; /* of a write; the new length of a truncation */
    int64_t at; /* nanoseconds of the monotonic clock, after the call */
};

struct rule {
    volatile uint32_t calls; /* a bit for each call: 1 << OPEN and so on; 0 where there is no rule */
    int32_t how;
    int32_t error;
    int32_t milliseconds; /* of WAIT */
    volatile int32_t after; /* so many calls go well first */
    volatile int32_t times; /* then so many do not; below zero: all of them */
    volatile int32_t struck; /* how often it has been done */
    int32_t unused;
    char pattern[224]; /* of the path, as a shell has it */
};

enum { RULES = 8, FILES = 65536 };
static char *watched[FILES]; /* the path of each open descriptor */
static char root[PATH_MAX];
static size_t root_length;
static int record = -1;
static pid_t owner; /* a child between fork and exec shares our memory, and must leave it alone */
static struct rule no_rules[RULES];
static struct rule *rules = no_rules;
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

#define REAL(kind, name, ...) \
    static kind (*real_##name)(__VA_ARGS__); \
    if (!real_##name) \
        *(void **)&real_##name = dlsym(RTLD_NEXT, #name);

static int really_close(int file)
{
    REAL(int, close, int)
    return real_close(file);
}

static void note(uint32_t call, int file, int flags, int error, int64_t offset, const void *data, size_t bytes)
{
    REAL(ssize_t, writev, int, const struct iovec *, int)
    struct timespec now;
    if (record < 0)
        return;
    clock_gettime(CLOCK_MONOTONIC, &now);
    struct note told = {bytes, call, owner, file, flags, error, offset, now.tv_sec * 1000000000LL + now.tv_nsec};
    struct iovec parts[] = {{&told, sizeof told}, {(void *)data, bytes}};
    if (real_writev(record, parts, 2) != (ssize_t)(sizeof told + bytes))
        abort(); /* half a record is worth nothing */
}

__attribute__((constructor)) static void begin(void)
{
    REAL(int, open, const char *, int, ...)
    const char *place = getenv("WATCHED_DISK");
    const char *into = getenv("WATCHED_DISK_RECORD"), *from = getenv("WATCHED_DISK_RULES");
    if (owner || !place || !realpath(place, root))
        return;
    owner = getpid();
    root_length = strlen(root);
    int file = from ? real_open(from, O_RDWR | O_CLOEXEC) : -1;
    void *seen = file < 0 ? MAP_FAILED : mmap(NULL, sizeof no_rules, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    rules = seen == MAP_FAILED ? no_rules : seen;
    if (file >= 0)
        really_close(file);
    file = into ? real_open(into, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (file >= 0) { /* out of the way of those who count descriptors */
        record = fcntl(file, F_DUPFD_CLOEXEC, 1000);
        if (record < 0)
            record = file;
        else
            really_close(file);
    }
    note(BEGIN, -1, 0, 0, 0, root, root_length);
}

/* The absolute path, where it is ours to watch. */
static const char *ours(const char *path, char *into)
{
    if (!owner || owner != getpid() || !path)
        return NULL;
    if (path[0] == '/')
        snprintf(into, PATH_MAX, "%s", path);
    else {
        char here[PATH_MAX];
        if (!getcwd(here, sizeof here) || snprintf(into, PATH_MAX, "%s/%s", here, path) >= PATH_MAX)
            return NULL;
    }
    return strncmp(into, root, root_length) == 0 && (into[root_length] == '/' || !into[root_length]) ? into : NULL;
}

static const char *path_of(int file)
{
    return owner && owner == getpid() && file >= 0 && file < FILES ? watched[file] : NULL;
}

/* Whether there is still one left, which is then taken; below zero there always is. */
static int takes_one(volatile int32_t *times)
{
    int32_t left = *times;
    while (left > 0)
        if (__atomic_compare_exchange_n(times, &left, left - 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            return 1;
    return left < 0;
}

/* The rule that strikes this call now, if one does. Waiting is done here. */
static struct rule *struck(uint32_t call, const char *path)
{
    for (struct rule *rule = rules; rule < rules + RULES; rule++) {
        if (!(rule->calls & (1u << call)) || fnmatch(rule->pattern, path, 0))
            continue;
        if (rule->after > 0 && __atomic_fetch_sub(&rule->after, 1, __ATOMIC_SEQ_CST) > 0)
            continue;
        if (!takes_one(&rule->times))
            continue;
        __atomic_fetch_add(&rule->struck, 1, __ATOMIC_SEQ_CST);
        if (rule->how != WAIT)
            return rule;
        struct timespec pause = {rule->milliseconds / 1000, rule->milliseconds % 1000 * 1000000L};
        nanosleep(&pause, NULL);
    }
    return NULL;
}

/* What a call that was struck answers, where it does nothing. */
static int answer(const struct rule *rule)
{
    if (rule->how == LIE)
        return 0;
    errno = rule->error;
    return -1;
}

static int watch(int file, const char *path, int flags)
{
    if (file >= 0 && file < FILES) {
        free(watched[file]);
        watched[file] = strdup(path);
        note(OPEN, file, flags, 0, 0, path, strlen(path));
    }
    return file;
}

static int opened(const char *path, int flags, mode_t mode)
{
    REAL(int, open, const char *, int, ...)
    char full[PATH_MAX];
    const char *found = ours(path, full);
    if (!found)
        return real_open(path, flags, mode);
    struct rule *rule = struck(OPEN, found);
    if (rule)
        return answer(rule) ? -1 : real_open(path, flags, mode);
    pthread_mutex_lock(&one_at_a_time);
    int file = watch(real_open(path, flags, mode), found, flags), error = errno;
    pthread_mutex_unlock(&one_at_a_time);
    errno = error;
    return file;
}

int open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return opened(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return opened(path, flags | O_LARGEFILE, mode);
}

int close(int file)
{
    const char *path = path_of(file);
    if (!path)
        return really_close(file);
    struct rule *rule = struck(CLOSE, path);
    pthread_mutex_lock(&one_at_a_time);
    note(CLOSE, file, 0, 0, 0, NULL, 0);
    free(watched[file]);
    watched[file] = NULL;
    int done = really_close(file), error = errno;
    pthread_mutex_unlock(&one_at_a_time);
    errno = error;
    return rule ? answer(rule) : done;
}

/* Writes of every kind end here. An offset below zero: where the file stands. */
static ssize_t written(int file, const struct iovec *parts, int count, off_t offset)
{
    REAL(ssize_t, writev, int, const struct iovec *, int)
    REAL(ssize_t, pwrite, int, const void *, size_t, off_t)
    const char *path = path_of(file);
    struct rule *rule = path ? struck(WRITE, path) : NULL;
    size_t bytes = 0;
    for (int part = 0; part < count; part++)
        bytes += parts[part].iov_len;
    if (rule && rule->how != HALF)
        return answer(rule) ? -1 : (ssize_t)bytes;
    struct iovec half = {count ? parts[0].iov_base : NULL, count ? parts[0].iov_len / 2 : 0};
    if (rule)
        parts = &half, count = 1;
    if (path)
        pthread_mutex_lock(&one_at_a_time);
    ssize_t done = offset < 0 ? real_writev(file, parts, count)
                              : real_pwrite(file, parts->iov_base, parts->iov_len, offset);
    int error = errno;
    if (path) {
        off_t at = offset < 0 && done > 0 ? lseek(file, 0, SEEK_CUR) - done : offset;
        ssize_t left = done;
        for (int part = 0; part < count && left > 0; part++) {
            size_t length = (size_t)left < parts[part].iov_len ? (size_t)left : parts[part].iov_len;
            note(WRITE, file, 0, 0, at, parts[part].iov_base, length);
            at += length, left -= length;
        }
        pthread_mutex_unlock(&one_at_a_time);
    }
    errno = error;
    return rule ? answer(rule) : done;
}

ssize_t write(int file, const void *data, size_t bytes)
{
    struct iovec part = {(void *)data, bytes};
    return written(file, &part, 1, -1);
}

ssize_t writev(int file, const struct iovec *parts, int count)
{
    return written(file, parts, count, -1);
}

ssize_t pwrite(int file, const void *data, size_t bytes, off_t offset)
{
    struct iovec part = {(void *)data, bytes};
    return written(file, &part, 1, offset);
}

ssize_t pwrite64(int file, const void *data, size_t bytes, off64_t offset)
{
    return pwrite(file, data, bytes, offset);
}

int ftruncate(int file, off_t length)
{
    REAL(int, ftruncate, int, off_t)
    const char *path = path_of(file);
    if (!path)
        return real_ftruncate(file, length);
    struct rule *rule = struck(TRUNCATE, path);
    if (rule)
        return answer(rule);
    pthread_mutex_lock(&one_at_a_time);
    int done = real_ftruncate(file, length), error = errno;
    if (!done)
        note(TRUNCATE, file, 0, 0, length, NULL, 0);
    pthread_mutex_unlock(&one_at_a_time);
    errno = error;
    return done;
}

int ftruncate64(int file, off64_t length)
{
    return ftruncate(file, length);
}

static int synced(int file, int (*real)(int))
{
    const char *path = path_of(file);
    if (!path)
        return real(file);
    struct rule *rule = struck(SYNC, path);
    pthread_mutex_lock(&one_at_a_time);
    int done = rule ? answer(rule) : real(file), error = errno;
    if (done || !rule)
        note(SYNC, file, 0, done ? error : 0, 0, NULL, 0);
    pthread_mutex_unlock(&one_at_a_time);
    errno = error;
    return done;
}

int fsync(int file)
{
    REAL(int, fsync, int)
    return synced(file, real_fsync);
}

int fdatasync(int file)
{
    REAL(int, fdatasync, int)
    return synced(file, real_fdatasync);
}

/* Calls on names: `other` is where a rename leads. */
static int named(uint32_t call, const char *path, const char *other, int (*real)(void *), void *asked)
{
    char full[PATH_MAX], second[PATH_MAX], both[2 * PATH_MAX];
    const char *found = ours(path, full);
    if (!found)
        return real(asked);
    struct rule *rule = struck(call, found);
    if (rule)
        return answer(rule);
    pthread_mutex_lock(&one_at_a_time);
    int done = real(asked), error = errno;
    if (!done) {
        size_t bytes = snprintf(both, sizeof both, "%s", found);
        if (other && ours(other, second))
            bytes += 1 + snprintf(both + bytes + 1, sizeof both - bytes - 1, "%s", second);
        note(call, -1, 0, 0, 0, both, bytes);
    }
    pthread_mutex_unlock(&one_at_a_time);
    errno = error;
    return done;
}

struct names {
    const char *path, *other;
    mode_t mode;
};

static int really_rename(void *asked)
{
    REAL(int, rename, const char *, const char *)
    struct names *names = asked;
    return real_rename(names->path, names->other);
}

static int really_unlink(void *asked)
{
    REAL(int, unlink, const char *)
    return real_unlink(((struct names *)asked)->path);
}

static int really_mkdir(void *asked)
{
    REAL(int, mkdir, const char *, mode_t)
    struct names *names = asked;
    return real_mkdir(names->path, names->mode);
}

static int really_rmdir(void *asked)
{
    REAL(int, rmdir, const char *)
    return real_rmdir(((struct names *)asked)->path);
}

int rename(const char *path, const char *other)
{
    struct names names = {path, other, 0};
    return named(RENAME, path, other, really_rename, &names);
}

int unlink(const char *path)
{
    struct names names = {path, NULL, 0};
    return named(UNLINK, path, NULL, really_unlink, &names);
}

int mkdir(const char *path, mode_t mode)
{
    struct names names = {path, NULL, mode};
    return named(MKDIR, path, NULL, really_mkdir, &names);
}

int rmdir(const char *path)
{
    struct names names = {path, NULL, 0};
    return named(RMDIR, path, NULL, really_rmdir, &names);
}
