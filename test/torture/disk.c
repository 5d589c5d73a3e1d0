// Stands between a process and the files of one database, preloaded into it. It writes down what is written and what is synced, from which
// disk.ts makes the files as a loss of power leaves them; and it makes syncs fail or lie, and the disk full, as its control file says.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum file { NONE, DATABASE, WAL, JOURNAL, SHM };
enum op { WRITE = 1, SYNC, TRUNCATE, UNLINK, LIED, FAILED };

// What the parent says, in a file that both have mapped.
struct control {
  volatile uint32_t failing, lying, full;
};

struct header {
  uint32_t op, file;
  uint64_t offset, length;
};

#define MAX_FDS 65536
static unsigned char kinds[MAX_FDS];
static const char *database;
static size_t databaseLength;
static struct control none, *control = &none;
static int logFd = -1;

static int (*realOpen)(const char *, int, ...);
static int (*realOpenat)(int, const char *, int, ...);
static int (*realClose)(int);
static ssize_t (*realWrite)(int, const void *, size_t);
static ssize_t (*realPwrite)(int, const void *, size_t, off64_t);
static int (*realTruncate)(int, off64_t);
static int (*realUnlink)(const char *);

__attribute__((constructor)) static void begin(void) {
  realOpen = dlsym(RTLD_NEXT, "open64");
  realOpenat = dlsym(RTLD_NEXT, "openat64");
  realClose = dlsym(RTLD_NEXT, "close");
  realWrite = dlsym(RTLD_NEXT, "write");
  realPwrite = dlsym(RTLD_NEXT, "pwrite64");
  realTruncate = dlsym(RTLD_NEXT, "ftruncate64");
  realUnlink = dlsym(RTLD_NEXT, "unlink");
  const char *path = getenv("HOLDFAST_DISK_DATABASE"), *said = getenv("HOLDFAST_DISK_CONTROL"), *log = getenv("HOLDFAST_DISK_LOG");
  if (path == NULL || said == NULL) return;
  int fd = realOpen(said, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  void *mapped = mmap(NULL, sizeof(struct control), PROT_READ, MAP_SHARED, fd, 0);
  realClose(fd);
  if (mapped != MAP_FAILED) control = mapped;
  if (log != NULL && *log != 0) logFd = realOpen(log, O_WRONLY | O_APPEND | O_CLOEXEC);
  database = path;
  databaseLength = strlen(path);
}

static enum file kindOf(const char *path) {
  if (database == NULL || path == NULL || strncmp(path, database, databaseLength) != 0) return NONE;
  const char *rest = path + databaseLength;
  if (*rest == 0) return DATABASE;
  if (strcmp(rest, "-wal") == 0) return WAL;
  if (strcmp(rest, "-journal") == 0) return JOURNAL;
  return strcmp(rest, "-shm") == 0 ? SHM : NONE;
}

static enum file kind(int fd) { return fd >= 0 && fd < MAX_FDS ? kinds[fd] : NONE; }

static int opened(int fd, const char *path) {
  if (fd >= 0 && fd < MAX_FDS) kinds[fd] = kindOf(path);
  return fd;
}

// In one call, as several processes append.
static void note(enum op op, enum file file, uint64_t offset, const void *data, uint64_t length) {
  if (logFd < 0 || file == SHM) return;
  struct header header = {op, file, offset, length};
  struct iovec parts[2] = {{&header, sizeof header}, {(void *)data, data == NULL ? 0 : length}};
  ssize_t written = writev(logFd, parts, 2);
  // What is not written down would look like a loss of the database's own.
  if (written != (ssize_t)(sizeof header + parts[1].iov_len)) abort();
}

// A full disk has room for what is there already.
static int refused(int fd, off64_t offset, size_t length) {
  struct stat st;
  if (!control->full || fstat(fd, &st) != 0) return 0;
  return offset + (off64_t)length > st.st_size;
}

static int mode(int flags, va_list rest) { return flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, int) : 0; }

#define OPEN(name, params, call)                                                                                                    \
  int name params {                                                                                                                 \
    if (realOpen == NULL) begin();                                                                                                  \
    va_list rest;                                                                                                                   \
    va_start(rest, flags);                                                                                                          \
    int given = mode(flags, rest);                                                                                                  \
    va_end(rest);                                                                                                                   \
    return opened(call, path);                                                                                                      \
  }
OPEN(open, (const char *path, int flags, ...), realOpen(path, flags, given))
OPEN(open64, (const char *path, int flags, ...), realOpen(path, flags, given))
OPEN(openat, (int at, const char *path, int flags, ...), realOpenat(at, path, flags, given))
OPEN(openat64, (int at, const char *path, int flags, ...), realOpenat(at, path, flags, given))

int close(int fd) {
  if (realClose == NULL) begin();
  if (fd >= 0 && fd < MAX_FDS) kinds[fd] = NONE;
  return realClose(fd);
}

ssize_t pwrite64(int fd, const void *data, size_t length, off64_t offset) {
  if (realPwrite == NULL) begin();
  enum file file = kind(fd);
  if (file != NONE) {
    if (refused(fd, offset, length)) return errno = ENOSPC, -1;
    // Before it is done: a process that ends in between has then at most said too much.
    note(WRITE, file, offset, data, length);
  }
  return realPwrite(fd, data, length, offset);
}
ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) { return pwrite64(fd, data, length, offset); }

ssize_t write(int fd, const void *data, size_t length) {
  if (realWrite == NULL) begin();
  enum file file = kind(fd);
  if (file == NONE) return realWrite(fd, data, length);
  off64_t offset = lseek64(fd, 0, SEEK_CUR);
  ssize_t written = pwrite64(fd, data, length, offset);
  if (written > 0) lseek64(fd, written, SEEK_CUR);
  return written;
}

int ftruncate64(int fd, off64_t size) {
  if (realTruncate == NULL) begin();
  enum file file = kind(fd);
  if (file != NONE) {
    if (refused(fd, size, 0)) return errno = ENOSPC, -1;
    note(TRUNCATE, file, size, NULL, 0);
  }
  return realTruncate(fd, size);
}
int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

int unlink(const char *path) {
  if (realUnlink == NULL) begin();
  enum file file = kindOf(path);
  if (file != NONE) note(UNLINK, file, 0, NULL, 0);
  return realUnlink(path);
}

// The power of this machine stays on: a sync has only to be written down.
static int synced(int fd, int (*real)(int)) {
  enum file file = kind(fd);
  if (file == NONE) return real(fd);
  if (control->failing) {
    note(FAILED, file, 0, NULL, 0);
    return errno = EIO, -1;
  }
  note(control->lying ? LIED : SYNC, file, 0, NULL, 0);
  return 0;
}
int fsync(int fd) {
  static int (*real)(int);
  if (real == NULL) real = dlsym(RTLD_NEXT, "fsync");
  return synced(fd, real);
}
int fdatasync(int fd) {
  static int (*real)(int);
  if (real == NULL) real = dlsym(RTLD_NEXT, "fdatasync");
  return synced(fd, real);
}
