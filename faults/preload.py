"""Libraries that are loaded before all others: a disk that fails, and allocations that are counted."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

# Reads of one file, BAD_FILE, end in EIO from the byte BAD_FROM on.
FAILING_DISK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How many of n bytes at `at` can be read before the bad place; -1: the read fails. */
static ssize_t readable(int file, off_t at, size_t n) {
    const char* path = getenv("BAD_FILE");
    char link[64], name[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    const ssize_t length = path == NULL ? -1 : readlink(link, name, sizeof name - 1);
    if (length < 0 || (name[length] = '\0', strcmp(name, path)) != 0) return (ssize_t)n;
    const off_t from = atoll(getenv("BAD_FROM"));
    if (at + (off_t)n <= from) return (ssize_t)n;
    return at < from ? (ssize_t)(from - at) : -1;
}

#define FAIL_OR(call) if (size < 0) { errno = EIO; return -1; } return call

ssize_t read(int file, void* to, size_t n) {
    static ssize_t (*real)(int, void*, size_t);
    if (real == NULL) real = dlsym(RTLD_NEXT, "read");
    const off_t at = lseek(file, 0, SEEK_CUR);
    const ssize_t size = at < 0 ? (ssize_t)n : readable(file, at, n);
    FAIL_OR(real(file, to, (size_t)size));
}

ssize_t pread(int file, void* to, size_t n, off_t at) {
    static ssize_t (*real)(int, void*, size_t, off_t);
    if (real == NULL) real = dlsym(RTLD_NEXT, "pread");
    const ssize_t size = readable(file, at, n);
    FAIL_OR(real(file, to, (size_t)size, at));
}

ssize_t pread64(int file, void* to, size_t n, off_t at) { return pread(file, to, n, at); }
"""

# The largest allocation since `reset`, and how far all of them together have grown since then.
COUNTED_MEMORY = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);
extern void __libc_free(void*);

static long now, most, largest;

static void raise_to(long* to, long value) {
    long before = __atomic_load_n(to, __ATOMIC_RELAXED);
    while (value > before && !__atomic_compare_exchange_n(to, &before, value, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}

static void* taken(void* block, size_t size) {
    raise_to(&largest, (long)size);
    raise_to(&most, __atomic_add_fetch(&now, block == NULL ? 0 : (long)malloc_usable_size(block), __ATOMIC_RELAXED));
    return block;
}

static void given(void* block) {
    if (block != NULL) __atomic_sub_fetch(&now, (long)malloc_usable_size(block), __ATOMIC_RELAXED);
}

void* malloc(size_t size) { return taken(__libc_malloc(size), size); }
void* calloc(size_t n, size_t size) { return taken(__libc_calloc(n, size), n * size); }
void free(void* block) { given(block); __libc_free(block); }
void* memalign(size_t to, size_t size) { return taken(__libc_memalign(to, size), size); }
void* aligned_alloc(size_t to, size_t size) { return memalign(to, size); }

int posix_memalign(void** out, size_t to, size_t size) {
    *out = memalign(to, size);
    return *out == NULL ? 12 : 0;
}

void* realloc(void* block, size_t size) {
    given(block);
    void* moved = __libc_realloc(block, size);
    if (moved == NULL && size != 0) return taken(block, 0), NULL;
    return taken(moved, size);
}

static long before;
void reset_memory(void) { largest = 0; most = before = now; }
long largest_allocation(void) { return largest; }
long growth(void) { return most - before; }
"""


def compiled(source: str, folder: Path) -> Path | None:
    """Return the library; None if there is no C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    built = folder / "preload.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(built), "-xc", "-", "-ldl"]
    subprocess.run(command, check=True, input=source, text=True)
    return built


def failing(built: Path, path: Path, byte: int) -> dict[str, str]:
    """Return the environment of a process for which `path` can't be read from `byte` on."""
    return {**os.environ, "LD_PRELOAD": str(built), "BAD_FILE": str(path.resolve()), "BAD_FROM": str(byte)}
