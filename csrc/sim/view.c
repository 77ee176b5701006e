/* Views: sparse vector clocks over the blocks of a grid. */
#include "sim/view.h"

#include <stdlib.h>
#include <string.h>

static void drop_ticks(gm_ticks *ticks)
{
    if (ticks && --ticks->users == 0) {
        free(ticks);
    }
}

static gm_view *make_view(int count)
{
    gm_view *view = malloc(sizeof *view + (size_t)count * sizeof view->list[0]);
    if (view) {
        view->users = 1;
        view->count = 0;
    }
    return view;
}

gm_view *gm_view_of_block(int64_t block, uint32_t interval, gm_ticks *ticks)
{
    gm_view *view = make_view(1);
    if (!view) {
        drop_ticks(ticks);
        return NULL;
    }
    view->list[view->count++] = (gm_block_view){block, interval, ticks};
    return view;
}

gm_view *gm_view_keep(gm_view *view)
{
    if (view) {
        view->users++;
    }
    return view;
}

void gm_view_drop(gm_view *view)
{
    if (!view || --view->users > 0) {
        return;
    }
    for (int i = 0; i < view->count; i++) {
        drop_ticks(view->list[i].ticks);
    }
    free(view);
}

const gm_block_view *gm_view_find(const gm_view *view, int64_t block)
{
    int low = 0, high = view ? view->count : 0;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (view->list[middle].block < block) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return view && low < view->count && view->list[low].block == block ? &view->list[low] : NULL;
}

/* Does a know all that b knows of the same block? */
static bool covers(const gm_block_view *a, const gm_block_view *b, int threads)
{
    if (a->interval != b->interval) {
        return a->interval > b->interval;
    }
    for (int i = 0; b->ticks && a->ticks != b->ticks && i < threads; i++) {
        if (b->ticks->of[i] > (a->ticks ? a->ticks->of[i] : 0)) {
            return false;
        }
    }
    return true;
}

/* Appends what a and b know of one block. */
static bool add_both(gm_view *to, const gm_block_view *a, const gm_block_view *b, int threads)
{
    gm_block_view *made = &to->list[to->count];
    if (covers(a, b, threads) || covers(b, a, threads)) {
        *made = covers(a, b, threads) ? *a : *b;
        if (made->ticks) {
            made->ticks->users++;
        }
        to->count++;
        return true;
    }
    gm_ticks *ticks = malloc(sizeof *ticks + (size_t)threads * sizeof ticks->of[0]);
    if (!ticks) {
        return false;
    }
    ticks->users = 1;
    for (int i = 0; i < threads; i++) {
        uint32_t left = a->ticks->of[i], right = b->ticks->of[i];
        ticks->of[i] = left < right ? right : left;
    }
    *made = (gm_block_view){a->block, a->interval, ticks};
    to->count++;
    return true;
}

static void add_one(gm_view *to, const gm_block_view *a)
{
    if (a->ticks) {
        a->ticks->users++;
    }
    to->list[to->count++] = *a;
}

/* Does the view a know all that b knows? */
static bool covers_all(const gm_view *a, const gm_view *b, int threads)
{
    for (int i = 0; i < b->count; i++) {
        const gm_block_view *found = gm_view_find(a, b->list[i].block);
        if (!found || !covers(found, &b->list[i], threads)) {
            return false;
        }
    }
    return true;
}

bool gm_view_join(gm_view **to, gm_view *from, int threads)
{
    gm_view *a = *to, *b = from;
    if (!b || a == b || (a && covers_all(a, b, threads))) {
        return true;
    }
    if (!a || covers_all(b, a, threads)) {
        gm_view_drop(a);
        *to = gm_view_keep(b);
        return true;
    }
    gm_view *made = make_view(a->count + b->count);
    bool ok = made;
    for (int i = 0, j = 0; ok && (i < a->count || j < b->count);) {
        if (j == b->count || (i < a->count && a->list[i].block < b->list[j].block)) {
            add_one(made, &a->list[i++]);
        } else if (i == a->count || b->list[j].block < a->list[i].block) {
            add_one(made, &b->list[j++]);
        } else {
            ok = add_both(made, &a->list[i++], &b->list[j++], threads);
        }
    }
    if (!ok) {
        gm_view_drop(made);
        return false;
    }
    gm_view_drop(a);
    *to = made;
    return true;
}
