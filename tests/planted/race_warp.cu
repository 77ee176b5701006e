/* Races on global memory between the lanes of one warp, and their correct twins. */

#define FULL 0xffffffffu

/* Warps are no longer in lockstep: a lane may overwrite what its neighbour has not read. */
__global__ void rotate_warp(int *x)
{
    int next = x[(threadIdx.x + 1) % 32]; // BUG
    x[threadIdx.x] = next;                // BUG
}

__global__ void rotate_warp_sync(int *x)
{
    int next = x[(threadIdx.x + 1) % 32];
    __syncwarp();
    x[threadIdx.x] = next;
}

__global__ void rotate_warp_shuffle(int *x)
{
    int mine = x[threadIdx.x];
    x[threadIdx.x] = __shfl_sync(FULL, mine, (threadIdx.x + 1) % 32);
}

/* The end of a reduction, as it was written when warps ran in lockstep. */
__global__ void reduce_warp_plain(float *x)
{
    int lane = threadIdx.x;
    for (int step = 16; step > 0; step /= 2) {
        if (lane < step) {
            x[lane] += x[lane + step]; // BUG
        }
    }
}

__global__ void reduce_warp_sync(float *x)
{
    int lane = threadIdx.x;
    for (int step = 16; step > 0; step /= 2) {
        if (lane < step) {
            x[lane] += x[lane + step];
        }
        __syncwarp();
    }
}

/* One lane writes, the others read at once. */
__global__ void leader_writes(const float *x, float *scale, float *y)
{
    if (threadIdx.x == 0) {
        *scale = 1.0f / x[0]; // BUG
    }
    y[threadIdx.x] = x[threadIdx.x] * *scale; // BUG
}

__global__ void leader_writes_sync(const float *x, float *scale, float *y)
{
    if (threadIdx.x == 0) {
        *scale = 1.0f / x[0];
    }
    __syncwarp();
    y[threadIdx.x] = x[threadIdx.x] * *scale;
}

/* A vote tells how many lanes arrive; all of them then write the same element. */
__global__ void count_with_ballot(const int *x, int *count)
{
    unsigned votes = __ballot_sync(FULL, x[threadIdx.x] > 10);
    *count = __popc(votes); // BUG
}

__global__ void count_with_ballot_leader(const int *x, int *count)
{
    unsigned votes = __ballot_sync(FULL, x[threadIdx.x] > 10);
    if (threadIdx.x == 0) {
        *count = __popc(votes);
    }
}

/* Even and odd lanes take different branches and meet in one element. */
__global__ void branches_meet(float *x)
{
    int lane = threadIdx.x;
    if (lane % 2 == 0) {
        x[lane + 1] = 1.0f; // BUG
    } else {
        x[lane] = 2.0f; // BUG
    }
}

/* The barrier names only half of the lanes. */
__global__ void half_of_the_mask(int *x)
{
    int lane = threadIdx.x;
    x[lane] = lane; // BUG
    if (lane < 16) {
        __syncwarp(0x0000ffffu);
        x[lane] += x[lane + 16]; // BUG
    }
}

__global__ void whole_of_the_mask(int *x)
{
    int lane = threadIdx.x;
    x[lane] = lane;
    __syncwarp();
    if (lane < 16) {
        x[lane] += x[lane + 16];
    }
}

/* Two lanes of a warp hit the same bin. */
__global__ void bins_in_a_warp(const unsigned char *x, int *bins)
{
    bins[x[threadIdx.x] % 8] += 1; // BUG
}

/* Lanes with the same bin elect one that adds for all of them. */
__global__ void bins_by_match(const unsigned char *x, int *bins)
{
    int bin = x[threadIdx.x] % 8;
    unsigned same = __match_any_sync(FULL, bin);
    if (__ffs(same) - 1 == threadIdx.x) {
        bins[bin] += __popc(same);
    }
}

/* Pairs are compared and exchanged in place; the next step has other pairs. */
__global__ void sort_network_no_sync(int *x)
{
    int lane = threadIdx.x;
    for (int step = 1; step <= 2; step++) {
        int partner = lane ^ step;
        if (partner > lane && x[lane] > x[partner]) { // BUG
            int higher = x[lane];                     // BUG
            x[lane] = x[partner];                     // BUG
            x[partner] = higher;                      // BUG
        }
    }
}

__global__ void sort_network_sync(int *x)
{
    int lane = threadIdx.x;
    for (int step = 1; step <= 2; step++) {
        int partner = lane ^ step;
        if (partner > lane && x[lane] > x[partner]) {
            int higher = x[lane];
            x[lane] = x[partner];
            x[partner] = higher;
        }
        __syncwarp();
    }
}
