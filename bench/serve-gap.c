// The time between two evaluations of llama.cpp, seen from below: preloaded into a server, whoever wrote it, and read by bench/serve-gap.mjs.
// cc -O2 -shared -fPIC -o serve-gap.so bench/serve-gap.c -ldl   then   LD_PRELOAD=serve-gap.so GAP_FILE=… SERVER

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

// As llama.h of v0.4.0 and v0.5.0 has it; passed by value.
struct llama_batch {
    int32_t n_tokens;
    void *token, *embd, *pos, *n_seq_id, *seq_id, *logits;
};

enum { RECORDS = 1 << 16 };

struct record {
    int64_t start, end;
    // Nanoseconds that samplers worked since this evaluation's end, all threads together.
    int64_t sampling;
    int64_t tokens;
    // CPU time of the process's first thread and of all its threads: what a busy machine does not lengthen by making them wait.
    int64_t first_start, first_end, all_start, all_end;
};

struct gaps {
    int64_t count;
    struct record records[RECORDS];
};

static struct gaps *gaps;
static __thread int depth;

static int64_t read_clock(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static int64_t now(void) {
    return read_clock(CLOCK_MONOTONIC);
}

// As Linux numbers the clock of another thread of the process: 4 for one thread, 2 for its time on a core.
static int64_t first_thread(void) {
    return read_clock((clockid_t)(~(unsigned)getpid() << 3 | 4 | 2));
}

__attribute__((constructor)) static void open_gaps(void) {
    const char *path = getenv("GAP_FILE");
    if (path == NULL) return;
    int file = open(path, O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, sizeof *gaps) != 0) return;
    void *map = mmap(NULL, sizeof *gaps, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map != MAP_FAILED) gaps = map;
    close(file);
}

static int is_llama(struct dl_phdr_info *library, size_t size, void *found) {
    (void)size;
    if (strstr(library->dlpi_name, "/libllama.") == NULL) return 0;
    *(const char **)found = library->dlpi_name;
    return 1;
}

// Node loads the library where RTLD_NEXT does not look.
static void *real_of(const char *name) {
    void *next = dlsym(RTLD_NEXT, name);
    const char *path = NULL;
    if (next != NULL) return next;
    dl_iterate_phdr(is_llama, &path);
    return dlsym(dlopen(path, RTLD_LAZY | RTLD_NOLOAD), name);
}

int32_t llama_decode(void *context, struct llama_batch batch) {
    static int32_t (*real)(void *, struct llama_batch);
    if (real == NULL) real = real_of("llama_decode");
    struct record record = {.tokens = batch.n_tokens};
    record.first_start = first_thread();
    record.all_start = read_clock(CLOCK_PROCESS_CPUTIME_ID);
    record.start = now();
    int32_t result = real(context, batch);
    record.end = now();
    record.all_end = read_clock(CLOCK_PROCESS_CPUTIME_ID);
    record.first_end = first_thread();
    if (gaps != NULL) {
        gaps->records[gaps->count % RECORDS] = record;
        __atomic_add_fetch(&gaps->count, 1, __ATOMIC_SEQ_CST);
    }
    return result;
}

void llama_sampler_apply(void *sampler, void *candidates) {
    static void (*real)(void *, void *);
    if (real == NULL) real = real_of("llama_sampler_apply");
    int64_t start = depth++ == 0 ? now() : 0;
    real(sampler, candidates);
    if (--depth == 0 && gaps != NULL && gaps->count > 0) {
        __atomic_add_fetch(&gaps->records[(gaps->count - 1) % RECORDS].sampling, now() - start, __ATOMIC_SEQ_CST);
    }
}
