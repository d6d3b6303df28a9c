/* Makes one call of a process fail, for tests: LD_PRELOAD this, compiled with `cc -shared -fPIC -o faults.so faults.c -ldl`.
 *
 * Calls that open, write, sync, cut, link or rename something below FAULT_DIR, or make a folder there, are counted from 1.
 * Call number FAULT_AT fails with the errno FAULT_ERRNO; with FAULT_LASTS set, so do all that follow. As the process ends,
 * the number of calls is written to FAULT_COUNT. Programs that the process starts are left alone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[PATH_MAX], count_file[PATH_MAX];
static long at, count;
static int error_number, lasts;

__attribute__((constructor)) static void begin(void) {
    const char *value = getenv("FAULT_DIR");
    if (value) snprintf(dir, sizeof dir, "%s", value);
    if ((value = getenv("FAULT_COUNT"))) snprintf(count_file, sizeof count_file, "%s", value);
    if ((value = getenv("FAULT_AT"))) at = atol(value);
    if ((value = getenv("FAULT_ERRNO"))) error_number = atoi(value);
    lasts = getenv("FAULT_LASTS") != NULL;
    unsetenv("LD_PRELOAD");
}

__attribute__((destructor)) static void end(void) {
    if (!count_file[0]) return;
    FILE *file = fopen(count_file, "w");
    if (!file) return;
    fprintf(file, "%ld", count);
    fclose(file);
}

/* Counts a call; says whether it fails. Only a call that `grows` something can find the disk full. */
static int fails(int grows) {
    long number = __atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST);
    if (!at || number < at || (number > at && !lasts)) return 0;
    if (error_number == ENOSPC && !grows) return 0;
    errno = error_number;
    return 1;
}

static int path_fails(const char *path, int grows) {
    if (!dir[0] || !path) return 0;
    if (path[0] == '/' && strncmp(path, dir, strlen(dir)) != 0) return 0;
    return fails(grows);
}

static int file_fails(int fd) {
    char name[64], path[PATH_MAX];
    if (!dir[0]) return 0;
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(name, path, sizeof path - 1);
    if (size <= 0) return 0;
    path[size] = 0;
    return strncmp(path, dir, strlen(dir)) == 0 ? fails(1) : 0;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define MODE(flags) \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | __O_TMPFILE)) { va_list rest; va_start(rest, flags); mode = va_arg(rest, mode_t); va_end(rest); }

int open(const char *path, int flags, ...) { MODE(flags) return path_fails(path, flags & O_CREAT) ? -1 : REAL(open)(path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags) return path_fails(path, flags & O_CREAT) ? -1 : REAL(open64)(path, flags, mode); }
int openat(int at_fd, const char *path, int flags, ...) { MODE(flags) return path_fails(path, flags & O_CREAT) ? -1 : REAL(openat)(at_fd, path, flags, mode); }
int openat64(int at_fd, const char *path, int flags, ...) { MODE(flags) return path_fails(path, flags & O_CREAT) ? -1 : REAL(openat64)(at_fd, path, flags, mode); }
ssize_t write(int fd, const void *bytes, size_t size) { return file_fails(fd) ? -1 : REAL(write)(fd, bytes, size); }
ssize_t pwrite(int fd, const void *bytes, size_t size, off_t to) { return file_fails(fd) ? -1 : REAL(pwrite)(fd, bytes, size, to); }
ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t to) { return file_fails(fd) ? -1 : REAL(pwrite64)(fd, bytes, size, to); }
int fsync(int fd) { return file_fails(fd) ? -1 : REAL(fsync)(fd); }
int fdatasync(int fd) { return file_fails(fd) ? -1 : REAL(fdatasync)(fd); }
int ftruncate(int fd, off_t size) { return file_fails(fd) ? -1 : REAL(ftruncate)(fd, size); }
int ftruncate64(int fd, off64_t size) { return file_fails(fd) ? -1 : REAL(ftruncate64)(fd, size); }
int rename(const char *from, const char *to) { return path_fails(to, 1) ? -1 : REAL(rename)(from, to); }
int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags) {
    return path_fails(to, 1) ? -1 : REAL(renameat2)(from_fd, from, to_fd, to, flags);
}
int linkat(int from_fd, const char *from, int to_fd, const char *to, int flags) {
    return path_fails(to, 1) ? -1 : REAL(linkat)(from_fd, from, to_fd, to, flags);
}
int mkdir(const char *path, mode_t mode) { return path_fails(path, 1) ? -1 : REAL(mkdir)(path, mode); }
