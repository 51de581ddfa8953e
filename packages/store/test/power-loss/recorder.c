/*
 * Recorder and fault of what a process does to the files below a folder, between the process and the system (LD_PRELOAD).
 *
 * BROOKLET_RECORD_ROOT   the folder; nothing else is looked at
 * BROOKLET_RECORD_TRACE  file that every call is appended to: u8 kind, u32 length and path, u32 length and second path, u64 offset,
 *                        u32 length and bytes, all little endian
 * BROOKLET_RECORD_LIES   "file", "directory" or both: syncs of these are done and not recorded, as by a device that lies
 * BROOKLET_FAULT         "KIND:ERRNO:N": the Nth call of a kind (w write, s sync, o open, r rename) fails with a number of an error;
 *                        0 for a write that is cut in half
 * BROOKLET_FAULT_WHILE   a file: as long as it is there, syncs fail with the number of an error that it has, as those of a device that takes
 *                        nothing; where that is EROFS, whatever changes something
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FILES 4096
static char *paths[FILES];
static char is_directory[FILES];
static const char *root;
static int trace = -1;
static int lies_file, lies_directory;
static char fault_kind;
static int fault_errno, fault_at, fault_seen;
static const char *fault_file;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void begin(void) __attribute__((constructor));
static void begin(void) {
  const char *file = getenv("BROOKLET_RECORD_TRACE"), *lies = getenv("BROOKLET_RECORD_LIES"), *fault = getenv("BROOKLET_FAULT");
  root = getenv("BROOKLET_RECORD_ROOT");
  if (file) trace = syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  lies_file = lies && strstr(lies, "file");
  lies_directory = lies && strstr(lies, "directory");
  fault_file = getenv("BROOKLET_FAULT_WHILE");
  if (fault) sscanf(fault, "%c:%d:%d", &fault_kind, &fault_errno, &fault_at);
}

static int ours(const char *path) { return root && path && strncmp(path, root, strlen(root)) == 0; }
static const char *of(int fd) { return fd >= 0 && fd < FILES ? paths[fd] : NULL; }

static int fails(char kind) {
  if (kind != fault_kind) return 0;
  int now = __atomic_add_fetch(&fault_seen, 1, __ATOMIC_SEQ_CST);
  return now == fault_at;
}

/* The number of the error that syncs fail with at the moment; 0: none does. */
static int refused(void) {
  char digits[8] = {0};
  int file = fault_file ? syscall(SYS_openat, AT_FDCWD, fault_file, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return 0;
  ssize_t length = syscall(SYS_read, file, digits, sizeof digits - 1);
  syscall(SYS_close, file);
  return length > 0 ? atoi(digits) : 0;
}

/* Whether a call fails with that number. The lock is held, and let go of if it does. */
static int is_refused(int is_ours) {
  int number = is_ours ? refused() : 0;
  if (number == 0) return 0;
  pthread_mutex_unlock(&lock);
  errno = number;
  return 1;
}

static void record(char kind, const char *path, const char *second, uint64_t offset, const void *bytes, uint32_t length) {
  if (trace < 0) return;
  uint32_t a = strlen(path), b = second ? strlen(second) : 0;
  size_t size = 1 + 4 + a + 4 + b + 8 + 4 + length, at = 0;
  char *all = malloc(size);
  all[at++] = kind;
  memcpy(all + at, &a, 4), at += 4;
  memcpy(all + at, path, a), at += a;
  memcpy(all + at, &b, 4), at += 4;
  if (b) memcpy(all + at, second, b), at += b;
  memcpy(all + at, &offset, 8), at += 8;
  memcpy(all + at, &length, 4), at += 4;
  if (length) memcpy(all + at, bytes, length);
  for (size_t done = 0; done < size;) {
    long wrote = syscall(SYS_write, trace, all + done, size - done);
    if (wrote <= 0) abort();
    done += wrote;
  }
  free(all);
}

static int opened(int fd, const char *path, int flags, int was) {
  if (fd < 0 || fd >= FILES || !ours(path)) return fd;
  struct stat about;
  free(paths[fd]);
  paths[fd] = strdup(path);
  is_directory[fd] = fstat(fd, &about) == 0 && S_ISDIR(about.st_mode);
  if ((flags & O_CREAT) && !was) record('c', path, NULL, 0, NULL, 0);
  if (flags & O_TRUNC) record('t', path, NULL, 0, NULL, 0);
  return fd;
}

static int open_at(int folder, const char *path, int flags, mode_t mode) {
  pthread_mutex_lock(&lock);
  int was = 1;
  if (ours(path)) {
    if (fails('o')) {
      pthread_mutex_unlock(&lock);
      errno = fault_errno;
      return -1;
    }
    was = access(path, F_OK) == 0;
    if (is_refused((flags & O_ACCMODE) != O_RDONLY && refused() == EROFS)) return -1;
  }
  int fd = syscall(SYS_openat, folder, path, flags, mode);
  int kept = errno;
  opened(fd, path, flags, was);
  errno = kept;
  pthread_mutex_unlock(&lock);
  return fd;
}

#define MODE(flags) mode_t mode = 0; if ((flags) & (O_CREAT | O_TMPFILE)) { va_list list; va_start(list, flags); mode = va_arg(list, mode_t); va_end(list); }
int open(const char *path, int flags, ...) { MODE(flags) return open_at(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags) return open_at(AT_FDCWD, path, flags, mode); }
int openat(int folder, const char *path, int flags, ...) { MODE(flags) return open_at(folder, path, flags, mode); }
int openat64(int folder, const char *path, int flags, ...) { MODE(flags) return open_at(folder, path, flags, mode); }

int close(int fd) {
  pthread_mutex_lock(&lock);
  if (of(fd)) {
    free(paths[fd]);
    paths[fd] = NULL;
  }
  int result = syscall(SYS_close, fd);
  pthread_mutex_unlock(&lock);
  return result;
}

static ssize_t write_at(int fd, const void *bytes, size_t length, off_t offset, int has_offset) {
  pthread_mutex_lock(&lock);
  const char *path = of(fd);
  if (is_refused(path && refused() == EROFS)) return -1;
  if (path && fails('w')) {
    if (fault_errno != 0) {
      pthread_mutex_unlock(&lock);
      errno = fault_errno;
      return -1;
    }
    length = length / 2;
  }
  uint64_t at = has_offset ? (uint64_t)offset : path ? (uint64_t)syscall(SYS_lseek, fd, 0, SEEK_CUR) : 0;
  ssize_t wrote = has_offset ? syscall(SYS_pwrite64, fd, bytes, length, offset) : syscall(SYS_write, fd, bytes, length);
  int kept = errno;
  if (path && wrote > 0) record('w', path, NULL, at, bytes, wrote);
  if (fd == 1 && wrote > 0) record('!', "", NULL, 0, bytes, wrote);
  errno = kept;
  pthread_mutex_unlock(&lock);
  return wrote;
}
ssize_t write(int fd, const void *bytes, size_t length) { return write_at(fd, bytes, length, 0, 0); }
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) { return write_at(fd, bytes, length, offset, 1); }
ssize_t pwrite64(int fd, const void *bytes, size_t length, off_t offset) { return write_at(fd, bytes, length, offset, 1); }

static int resize(int fd, off_t length) {
  pthread_mutex_lock(&lock);
  if (is_refused(of(fd) != NULL && refused() == EROFS)) return -1;
  int result = syscall(SYS_ftruncate, fd, length);
  int kept = errno;
  if (result == 0 && of(fd)) record('t', of(fd), NULL, length, NULL, 0);
  errno = kept;
  pthread_mutex_unlock(&lock);
  return result;
}
int ftruncate(int fd, off_t length) { return resize(fd, length); }
int ftruncate64(int fd, off_t length) { return resize(fd, length); }

static int sync_with(int fd, long number) {
  pthread_mutex_lock(&lock);
  const char *path = of(fd);
  if (is_refused(path != NULL)) return -1;
  if (path && fails('s')) {
    pthread_mutex_unlock(&lock);
    errno = fault_errno;
    return -1;
  }
  int result = syscall(number, fd);
  int kept = errno;
  if (path && result == 0 && !(is_directory[fd] ? lies_directory : lies_file)) record('s', path, NULL, 0, NULL, 0);
  errno = kept;
  pthread_mutex_unlock(&lock);
  return result;
}
int fsync(int fd) { return sync_with(fd, SYS_fsync); }
int fdatasync(int fd) { return sync_with(fd, SYS_fdatasync); }

int rename(const char *from, const char *to) {
  pthread_mutex_lock(&lock);
  if (is_refused(ours(from) && refused() == EROFS)) return -1;
  if (ours(from) && fails('r')) {
    pthread_mutex_unlock(&lock);
    errno = fault_errno;
    return -1;
  }
  int result = syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
  int kept = errno;
  if (result == 0 && ours(from)) record('r', from, to, 0, NULL, 0);
  errno = kept;
  pthread_mutex_unlock(&lock);
  return result;
}

static int gone(const char *path) {
  pthread_mutex_lock(&lock);
  if (is_refused(ours(path) && refused() == EROFS)) return -1;
  int result = syscall(SYS_unlinkat, AT_FDCWD, path, 0);
  int kept = errno;
  if (result == 0 && ours(path)) record('u', path, NULL, 0, NULL, 0);
  errno = kept;
  pthread_mutex_unlock(&lock);
  return result;
}
int unlink(const char *path) { return gone(path); }

int mkdir(const char *path, mode_t mode) {
  pthread_mutex_lock(&lock);
  if (is_refused(ours(path) && refused() == EROFS)) return -1;
  int result = syscall(SYS_mkdirat, AT_FDCWD, path, mode);
  int kept = errno;
  if (result == 0 && ours(path)) record('d', path, NULL, 0, NULL, 0);
  errno = kept;
  pthread_mutex_unlock(&lock);
  return result;
}
