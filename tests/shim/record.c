/* Records what a process asks of its disk, for tests: LD_PRELOAD this, compiled with `cc -shared -fPIC -o record.so record.c -ldl`.
 *
 * Each call that changes or syncs something below RECORD_DIR is appended to the file RECORD_TO once it has succeeded, as one
 * line and, after a write, its bytes. PATH is absolute and ends its line; INODE is that of the file.
 *
 *     create INODE MODE PATH      a file that was not there
 *     folder MODE PATH
 *     write INODE OFFSET SIZE     then SIZE bytes
 *     size INODE SIZE             cut or grown
 *     sync INODE
 *     syncfolder PATH
 *     name FROM, then a line TO   renamed; what was at TO is gone
 *     link INODE PATH
 *     remove PATH
 *     answer                      the first bytes on stdout: from here on the caller may rely on it
 *
 * Calls are recorded in the order in which they happen: one mutex is held over each. Programs that the process starts are
 * left alone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define MODE(flags) \
    mode_t mode = 0; \
    if ((flags) & O_CREAT) { va_list rest; va_start(rest, flags); mode = va_arg(rest, mode_t); va_end(rest); }

static char dir[PATH_MAX];
static int to = -1, answered;
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void begin(void) {
    const char *value = getenv("RECORD_DIR");
    if (value) snprintf(dir, sizeof dir, "%s", value);
    if ((value = getenv("RECORD_TO"))) to = REAL(open)(value, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    unsetenv("LD_PRELOAD");
}

static void put(const void *bytes, size_t size) {
    if (REAL(write)(to, bytes, size) != (ssize_t)size) abort();
}

static void say(const char *form, ...) {
    char line[2 * PATH_MAX + 64];
    va_list rest;
    va_start(rest, form);
    int size = vsnprintf(line, sizeof line, form, rest);
    va_end(rest);
    put(line, size);
}

static int inside(const char *path) { return to >= 0 && dir[0] && strncmp(path, dir, strlen(dir)) == 0; }

/* The absolute path of `path` below the folder `at`; says whether it is below RECORD_DIR. */
static int whole(int at, const char *path, char *out) {
    if (to < 0 || !path) return 0;
    if (path[0] == '/') {
        snprintf(out, PATH_MAX, "%s", path);
        return inside(out);
    }
    char base[PATH_MAX], name[64];
    if (at == AT_FDCWD) {
        if (!getcwd(base, sizeof base)) return 0;
    } else {
        snprintf(name, sizeof name, "/proc/self/fd/%d", at);
        ssize_t size = readlink(name, base, sizeof base - 1);
        if (size <= 0) return 0;
        base[size] = 0;
    }
    if (snprintf(out, PATH_MAX, "%s/%s", base, path) >= PATH_MAX) return 0;
    return inside(out);
}

/* What `fd` is: 0 nothing of ours, 1 a file, 2 a folder. */
static int known(int fd, struct stat *found, char *path) {
    char name[64];
    int error = errno, kind = 0;
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ssize_t size = to < 0 ? 0 : readlink(name, path, PATH_MAX - 1);
    if (size > 0) {
        path[size] = 0;
        if (inside(path) && fstat(fd, found) == 0) kind = S_ISDIR(found->st_mode) ? 2 : S_ISREG(found->st_mode);
    }
    errno = error;
    return kind;
}

static int opens(int fd, int flags, mode_t mode, int was_there, const char *path) {
    struct stat found;
    if (fd < 0 || fstat(fd, &found) != 0) return fd;
    if (!was_there) say("create %lu %u %s\n", (unsigned long)found.st_ino, mode, path);
    else if (flags & O_TRUNC) say("size %lu 0\n", (unsigned long)found.st_ino);
    return fd;
}

#define OPEN(name, at, path, call) { \
    MODE(flags) \
    char full[PATH_MAX]; \
    struct stat before; \
    if (!(flags & (O_CREAT | O_TRUNC)) || !whole(at, path, full)) return call; \
    pthread_mutex_lock(&one); \
    int was_there = lstat(full, &before) == 0; \
    int fd = opens(call, flags, mode, was_there, full); \
    pthread_mutex_unlock(&one); \
    return fd; \
}
int open(const char *path, int flags, ...) OPEN(open, AT_FDCWD, path, REAL(open)(path, flags, mode))
int open64(const char *path, int flags, ...) OPEN(open64, AT_FDCWD, path, REAL(open64)(path, flags, mode))
int openat(int at, const char *path, int flags, ...) OPEN(openat, at, path, REAL(openat)(at, path, flags, mode))
int openat64(int at, const char *path, int flags, ...) OPEN(openat64, at, path, REAL(openat64)(at, path, flags, mode))

static void wrote(int fd, const void *bytes, ssize_t size, off_t offset) {
    struct stat found;
    char path[PATH_MAX];
    if (size <= 0) return;
    if (fd == STDOUT_FILENO && to >= 0 && !answered) {
        answered = 1;
        say("answer\n");
    } else if (known(fd, &found, path) == 1) {
        say("write %lu %lld %zd\n", (unsigned long)found.st_ino, (long long)offset, size);
        put(bytes, size);
    }
}

ssize_t write(int fd, const void *bytes, size_t size) {
    pthread_mutex_lock(&one);
    ssize_t done = REAL(write)(fd, bytes, size);
    if (done > 0) wrote(fd, bytes, done, lseek(fd, 0, SEEK_CUR) - done);
    pthread_mutex_unlock(&one);
    return done;
}
#define PWRITE(name, offset_type) \
    ssize_t name(int fd, const void *bytes, size_t size, offset_type offset) { \
        pthread_mutex_lock(&one); \
        ssize_t done = REAL(name)(fd, bytes, size, offset); \
        wrote(fd, bytes, done, offset); \
        pthread_mutex_unlock(&one); \
        return done; \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

static int synced(int fd, int result) {
    struct stat found;
    char path[PATH_MAX];
    int kind = result == 0 ? known(fd, &found, path) : 0;
    if (kind == 1) say("sync %lu\n", (unsigned long)found.st_ino);
    if (kind == 2) say("syncfolder %s\n", path);
    return result;
}
static int sized(int fd, off64_t size, int result) {
    struct stat found;
    char path[PATH_MAX];
    if (result == 0 && known(fd, &found, path) == 1) say("size %lu %lld\n", (unsigned long)found.st_ino, (long long)size);
    return result;
}
#define HELD(call) { \
    pthread_mutex_lock(&one); \
    int result = call; \
    pthread_mutex_unlock(&one); \
    return result; \
}
int fsync(int fd) HELD(synced(fd, REAL(fsync)(fd)))
int fdatasync(int fd) HELD(synced(fd, REAL(fdatasync)(fd)))
int ftruncate(int fd, off_t size) HELD(sized(fd, size, REAL(ftruncate)(fd, size)))
int ftruncate64(int fd, off64_t size) HELD(sized(fd, size, REAL(ftruncate64)(fd, size)))

static int named(int from_at, const char *from, int to_at, const char *name, int result) {
    char full_from[PATH_MAX], full_to[PATH_MAX];
    if (result == 0 && whole(from_at, from, full_from) && whole(to_at, name, full_to)) say("name %s\n%s\n", full_from, full_to);
    return result;
}
int rename(const char *from, const char *name) HELD(named(AT_FDCWD, from, AT_FDCWD, name, REAL(rename)(from, name)))
int renameat(int from_at, const char *from, int at, const char *name)
    HELD(named(from_at, from, at, name, REAL(renameat)(from_at, from, at, name)))
int renameat2(int from_at, const char *from, int at, const char *name, unsigned flags)
    HELD(named(from_at, from, at, name, REAL(renameat2)(from_at, from, at, name, flags)))

static int linked(int at, const char *path, int result) {
    char full[PATH_MAX];
    struct stat found;
    if (result == 0 && whole(at, path, full) && lstat(full, &found) == 0)
        say("link %lu %s\n", (unsigned long)found.st_ino, full);
    return result;
}
int link(const char *from, const char *name) HELD(linked(AT_FDCWD, name, REAL(link)(from, name)))
int linkat(int from_at, const char *from, int at, const char *name, int flags)
    HELD(linked(at, name, REAL(linkat)(from_at, from, at, name, flags)))

static int made(int at, const char *path, mode_t mode, int result) {
    char full[PATH_MAX];
    if (result == 0 && whole(at, path, full)) say("folder %u %s\n", mode, full);
    return result;
}
int mkdir(const char *path, mode_t mode) HELD(made(AT_FDCWD, path, mode, REAL(mkdir)(path, mode)))
int mkdirat(int at, const char *path, mode_t mode) HELD(made(at, path, mode, REAL(mkdirat)(at, path, mode)))

static int removed(int at, const char *path, int result) {
    char full[PATH_MAX];
    if (result == 0 && whole(at, path, full)) say("remove %s\n", full);
    return result;
}
int unlink(const char *path) HELD(removed(AT_FDCWD, path, REAL(unlink)(path)))
int unlinkat(int at, const char *path, int flags) HELD(removed(at, path, REAL(unlinkat)(at, path, flags)))
int rmdir(const char *path) HELD(removed(AT_FDCWD, path, REAL(rmdir)(path)))
