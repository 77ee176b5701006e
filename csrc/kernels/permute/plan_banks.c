/*
 * permute: banks of shared memory that the lanes of a tile of joined_tile.h read.
 *
 * If a line is one row, lanes of neighbouring vectors are N lines apart, and a gap behind each N
 * makes their banks different. If it is `run` rows they are N / run apart, which is no whole
 * number, and where a line begins in a vector differs from one to the next. So the loads of a warp
 * are counted for some gaps, and the best are taken: 2 to 2.4 passes for bytes and halves of random
 * sizes, where 3 to 4.6 were counted without.
 */
#include "permute/plan_banks.h"

#include <limits.h>

#include "per_thread.h"
#include "permute/plan_layout.h"

enum {
    LANES = 32,
    BESIDE = LANES / JOINED_LANES, /* columns */
    BANKS = 128,                   /* bytes: a word of each */
    VECTOR = 16,
    LOADS = 4, /* of a warp that are counted, */
    ENOUGH = 8 /* and passes of them, of which there are few less */
};

size_t permute_joined_bytes(const permute_joined_args *args)
{
    const size_t lines = args->most;
    return args->tables + (lines * args->vectors.by + (lines >> args->gap) + 1) * VECTOR;
}

/* The units that lanes load: which line, and bytes from where that begins. */
typedef struct loads {
    uint32_t line[LOADS][LANES], byte[LOADS][LANES];
} loads;

/* Columns that are `apart`, in an order of units that differs by column or not. */
static void find_loads(const permute_joined_args *args, unsigned unit, unsigned pitch,
                       unsigned across, loads *found)
{
    const unsigned n = VECTOR / unit, run = args->run.by;
    for (unsigned k = 0; k < LOADS; k++) {
        const unsigned first = k / 2 * 16, v = k / 2 * JOINED_LANES;
        for (unsigned lane = 0; lane < LANES; lane++) {
            const unsigned beside = lane / JOINED_LANES, col = first + (beside << args->apart);
            const unsigned begin = (0 - (unsigned)(uintptr_t)args->out - col * across) % GM_SECTOR;
            const unsigned turn = args->turned ? beside * (n / BESIDE) : 0;
            const unsigned i = (k % 2 * (n / 2 + n / 8) + turn) % n;
            const unsigned row = begin / unit + (lane % JOINED_LANES + v) * n + i;
            const unsigned over = (unsigned)(uintptr_t)args->in + row / run * pitch;
            found->line[k][lane] = row / run;
            found->byte[k][lane] = over % VECTOR + (row % run + col * run) * unit;
        }
    }
}

/* Lanes that read different words of a bank take turns. */
static unsigned passes_of(const permute_joined_args *args, unsigned unit, const loads *found)
{
    const unsigned word = unit < 4 ? 4 : unit, banks = BANKS / word;
    const unsigned together = LANES * 4 / word; /* lanes */
    unsigned passes = 0;
    for (unsigned at = 0; at < LOADS * LANES; at += together) {
        uint32_t words[BANKS / 4][LANES];
        unsigned counts[BANKS / 4] = {0}, most = 0;
        for (unsigned k = at; k < at + together; k++) {
            const uint32_t line = found->line[k / LANES][k % LANES];
            const uint32_t here = ((line * args->vectors.by + (line >> args->gap)) * VECTOR +
                                   found->byte[k / LANES][k % LANES]) /
                                  word;
            uint32_t *those = words[here % banks];
            unsigned *count = counts + here % banks, i = 0;
            while (i < *count && those[i] != here) {
                i++;
            }
            those[i] = here;
            *count += i == *count;
            most = *count > most ? *count : most;
        }
        passes += most;
    }
    return passes;
}

/* ---- the choice ------------------------------------------------------------------------------ */

/* What it depends on, of addresses and distances only what is within a vector or a sector. No
 * padding: compared byte by byte. */
typedef struct banks_key {
    uint32_t unit, run, in, out, pitch, across, vectors, most, tables, room;
} banks_key;

typedef struct banks {
    uint32_t vectors, gap, apart;
    bool turned;
} banks;

/* In the order in which they are tried: the first that is good enough is taken. */
static banks find_banks(const permute_joined_args *args, const banks_key *key)
{
    enum { PADS = 4, FIRST_GAP = 2, LAST_GAP = 4, APART = 2 };
    permute_joined_args tried = *args;
    banks best = {args->vectors.by, args->gap, args->apart, args->turned};
    unsigned least = UINT_MAX;
    for (int order = 0; order < (key->unit == 1 ? 2 : 1); order++) {
        tried.turned = order > 0;
        for (tried.apart = 0; tried.apart <= APART; tried.apart++) {
            loads found;
            find_loads(&tried, key->unit, key->pitch, key->across, &found);
            for (uint32_t i = 0; i < PADS * (LAST_GAP - FIRST_GAP + 1); i++) {
                tried.vectors = permute_divisor_of(key->vectors + i % PADS);
                tried.gap = LAST_GAP - i / PADS;
                const unsigned passes = passes_of(&tried, key->unit, &found);
                if (passes < least && permute_joined_bytes(&tried) <= key->room) {
                    least = passes;
                    best = (banks){tried.vectors.by, tried.gap, tried.apart, tried.turned};
                }
                if (least <= ENOUGH) {
                    return best;
                }
            }
        }
    }
    return best;
}

/* Those that a thread has found last: calls of one layout take no longer than others. */
void permute_choose_banks(permute_joined_args *args, int unit, int64_t pitch, int64_t across,
                          size_t room)
{
    struct kept {
        banks_key key;
        banks banks;
    } none;
    bool known;
    const banks_key key = {
        .unit = (uint32_t)unit,
        .run = args->run.by,
        .in = (uint32_t)((uintptr_t)args->in % VECTOR),
        .out = (uint32_t)((uintptr_t)args->out % GM_SECTOR),
        .pitch = (uint32_t)pitch % VECTOR,
        .across = (uint32_t)across % GM_SECTOR,
        .vectors = args->vectors.by,
        .most = args->most,
        .tables = args->tables,
        .room = (uint32_t)room,
    };
    struct kept *kept = gm_per_thread_slot(GM_PART_BANKS, sizeof *kept, &key, sizeof key, &known);
    struct kept *slot = kept ? kept : &none;
    if (!known) {
        slot->banks = find_banks(args, &key);
        slot->key = key;
    }
    args->vectors = permute_divisor_of(slot->banks.vectors);
    args->gap = slot->banks.gap;
    args->apart = slot->banks.apart;
    args->turned = slot->banks.turned;
}
