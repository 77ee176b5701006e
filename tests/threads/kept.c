/*
 * Several threads keep different choices for the same layouts, for tests/test_kept.py: when all
 * have done so, each finds its own. The exit status says how many threads do not.
 */
#include <pthread.h>

#include "call/kept.h"

enum { THREADS = 8, LAYOUTS = 4 };

static pthread_barrier_t all_have;

static gm_call call_of(int64_t length)
{
    static const gm_family family = {.keeps_choice = true, .input_count = 1};
    gm_array array = {.itemsize = 4, .ndim = 1, .shape = {length}, .strides = {4}};
    return (gm_call){.family = &family, .in = {array}, .out = array};
}

/* Nothing looks into what is kept, so a thread's own bytes do for variants. */
static void *work(void *unused)
{
    char own[LAYOUTS];
    const gm_variant *found[LAYOUTS];
    gm_kept_key key;
    (void)unused;
    for (int i = 0; i < LAYOUTS; i++) {
        gm_call call = call_of(i);
        (void)gm_kept_find(&call, NULL, &key);
        gm_kept_store(&key, (const gm_variant *)&own[i]);
        found[i] = gm_kept_find(&call, NULL, &key);
    }
    pthread_barrier_wait(&all_have);
    bool right = true;
    for (int i = 0; i < LAYOUTS; i++) { /* another layout may have needed the room */
        gm_call call = call_of(i);
        const gm_variant *again = gm_kept_find(&call, NULL, &key);
        right &= found[i] == (const gm_variant *)&own[i] && (!again || again == found[i]);
    }
    return right ? NULL : &all_have;
}

int main(void)
{
    pthread_t threads[THREADS];
    int wrong = 0;
    pthread_barrier_init(&all_have, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, work, NULL) != 0) {
            return 99;
        }
    }
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        wrong += failed != NULL;
    }
    return wrong;
}
