/*
 * A few threads wait for a job, whose pieces any free thread takes.
 *
 * One job runs at a time. A caller that finds the threads busy copies alone: other callers keep the
 * machine busy then.
 */
#define _GNU_SOURCE
#include "memory/workers.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "fork_lock.h"

enum {
    MOST_THREADS = 16,
    PIECE = 512 * 1024, /* bytes: well above the cost of waking a thread */
};

typedef struct job {
    char *to;
    const char *from;
    int64_t to_pitch, from_pitch, width, rows;
    int64_t rows_per_piece, pieces;
    _Atomic int64_t next;
    int busy; /* threads that may still use it; guarded by the lock */
} job;

GM_CHILD_LOCK(job_slot); /* held by the caller whose job runs */
GM_CHILD_LOCK(lock);
static pthread_cond_t there_is_work = PTHREAD_COND_INITIALIZER;
static pthread_cond_t work_is_done = PTHREAD_COND_INITIALIZER;
static job *current;
static unsigned jobs; /* started so far */
static int threads = -1;

/* A child has none of its parent's threads. */
static void forget_threads(void)
{
    pthread_cond_init(&there_is_work, NULL);
    pthread_cond_init(&work_is_done, NULL);
    current = NULL;
    threads = -1;
}
GM_IN_CHILD(forget_threads);

static void work(job *it)
{
    for (;;) {
        int64_t piece = atomic_fetch_add(&it->next, 1);
        if (piece >= it->pieces) {
            return;
        }
        int64_t row = piece * it->rows_per_piece, end = row + it->rows_per_piece;
        for (end = end < it->rows ? end : it->rows; row < end; row++) {
            memcpy(it->to + row * it->to_pitch, it->from + row * it->from_pitch, (size_t)it->width);
        }
    }
}

static void *run(void *unused)
{
    unsigned seen = 0;
    (void)unused;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!current || jobs == seen) {
            pthread_cond_wait(&there_is_work, &lock);
        }
        job *it = current;
        seen = jobs;
        it->busy++;
        pthread_mutex_unlock(&lock);
        work(it);
        pthread_mutex_lock(&lock);
        if (--it->busy == 0) {
            pthread_cond_signal(&work_is_done);
        }
    }
    return NULL;
}

/* The caller holds the lock. If a thread cannot be created, there are fewer. */
static void start(void)
{
    cpu_set_t set;
    int usable = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    pthread_attr_t detached;

    threads = 0;
    if (pthread_attr_init(&detached) != 0) {
        return;
    }
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    while (threads < usable - 1 && threads < MOST_THREADS - 1) {
        pthread_t made;
        if (pthread_create(&made, &detached, run, NULL) != 0) {
            break;
        }
        threads++;
    }
    pthread_attr_destroy(&detached);
}

void gm_copy_rows_together(char *to, int64_t to_pitch, const char *from, int64_t from_pitch,
                           int64_t width, int64_t rows)
{
    if (width == 0 || rows == 0) {
        return;
    }
    if (rows == 1 ||
        (width == to_pitch && width == from_pitch)) { /* contiguous: pieces of any length will do */
        int64_t bytes = width * rows;
        int64_t whole = bytes / PIECE * PIECE;
        memcpy(to + whole, from + whole, (size_t)(bytes - whole));
        rows = whole / PIECE;
        width = to_pitch = from_pitch = PIECE;
    }
    int64_t rows_per_piece = width < PIECE ? PIECE / width : 1;
    job mine = {
        .to = to,
        .from = from,
        .to_pitch = to_pitch,
        .from_pitch = from_pitch,
        .width = width,
        .rows = rows,
        .rows_per_piece = rows_per_piece,
        .pieces = (rows + rows_per_piece - 1) / rows_per_piece,
    };
    if (mine.pieces < 2 || pthread_mutex_trylock(&job_slot) != 0) {
        work(&mine);
        return;
    }
    pthread_mutex_lock(&lock);
    if (threads < 0) {
        start();
    }
    current = &mine;
    jobs++;
    pthread_cond_broadcast(&there_is_work);
    pthread_mutex_unlock(&lock);
    work(&mine);
    pthread_mutex_lock(&lock);
    current = NULL; /* no thread begins on it any more */
    while (mine.busy > 0) {
        pthread_cond_wait(&work_is_done, &lock);
    }
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&job_slot);
}
