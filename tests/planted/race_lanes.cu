/* Races on shared memory between the lanes of one warp, and their correct twins. */

#define FULL 0xffffffffu

/* The last steps of a reduction without a barrier of the warp. */
__global__ void reduce_last_warp(const float *x, float *sum)
{
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    if (t < 32) {
        s[t] += s[t + 32]; // BUG
        s[t] += s[t + 16]; // BUG
        s[t] += s[t + 8];  // BUG
    }
    __syncthreads();
    if (t == 0) {
        *sum = s[0];
    }
}

__global__ void reduce_last_warp_sync(const float *x, float *sum)
{
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    if (t < 32) {
        float value = s[t];
        for (int step = 32; step > 0; step /= 2) {
            value += s[t + step];
            __syncwarp();
            s[t] = value;
            __syncwarp();
        }
    }
    if (t == 0) {
        *sum = s[0];
    }
}

__global__ void exchange_no_sync(const int *x, int *y)
{
    __shared__ int s[32];
    s[threadIdx.x] = x[threadIdx.x];     // BUG
    y[threadIdx.x] = s[threadIdx.x ^ 1]; // BUG
}

__global__ void exchange_sync(const int *x, int *y)
{
    __shared__ int s[32];
    s[threadIdx.x] = x[threadIdx.x];
    __syncwarp();
    y[threadIdx.x] = s[threadIdx.x ^ 1];
}

/* A tile of 4 × 8 is transposed by one warp. */
__global__ void transpose_warp_no_sync(const float *in, float *out)
{
    __shared__ float tile[4][9];
    int lane = threadIdx.x;
    tile[lane / 8][lane % 8] = in[lane];  // BUG
    out[lane] = tile[lane % 4][lane / 4]; // BUG
}

__global__ void transpose_warp_sync(const float *in, float *out)
{
    __shared__ float tile[4][9];
    int lane = threadIdx.x;
    tile[lane / 8][lane % 8] = in[lane];
    __syncwarp();
    out[lane] = tile[lane % 4][lane / 4];
}

__global__ void leader_no_sync(const int *x, int *y)
{
    __shared__ int base[4];
    int warp = threadIdx.x / 32;
    if (threadIdx.x % 32 == 0) {
        base[warp] = x[warp]; // BUG
    }
    y[threadIdx.x] = base[warp] + threadIdx.x; // BUG
}

__global__ void leader_sync(const int *x, int *y)
{
    __shared__ int base[4];
    int warp = threadIdx.x / 32;
    if (threadIdx.x % 32 == 0) {
        base[warp] = x[warp];
    }
    __syncwarp();
    y[threadIdx.x] = base[warp] + threadIdx.x;
}

/* Bins of one warp, so "no other thread is there"; the other lanes are. */
__global__ void bins_of_warp(const int *x, int *y)
{
    __shared__ int bins[4][8];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (lane < 8) {
        bins[warp][lane] = 0;
    }
    __syncwarp();
    bins[warp][x[threadIdx.x] % 8]++; // BUG
    __syncwarp();
    if (lane < 8) {
        y[warp * 8 + lane] = bins[warp][lane];
    }
}

__global__ void bins_of_warp_atomic(const int *x, int *y)
{
    __shared__ int bins[4][8];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (lane < 8) {
        bins[warp][lane] = 0;
    }
    __syncwarp();
    atomicAdd(&bins[warp][x[threadIdx.x] % 8], 1);
    __syncwarp();
    if (lane < 8) {
        y[warp * 8 + lane] = bins[warp][lane];
    }
}

/* The mask names the lower lanes, but they read what the upper lanes write. */
__global__ void sync_of_lower_lanes(const int *x, int *y)
{
    __shared__ int s[32];
    int lane = threadIdx.x;
    s[lane] = x[lane]; // BUG
    if (lane < 16) {
        __syncwarp(0xffffu);
        y[lane] = s[lane + 16]; // BUG
    }
}

__global__ void sync_within_lower_lanes(const int *x, int *y)
{
    __shared__ int s[32];
    int lane = threadIdx.x;
    s[lane] = x[lane];
    if (lane < 16) {
        __syncwarp(0xffffu);
        y[lane] = s[15 - lane];
    }
}

/* A list for each warp whose length is a plain counter. */
__global__ void append_plain(const int *x, int *lengths)
{
    __shared__ int list[4][32], length[4];
    int warp = threadIdx.x / 32;
    if (threadIdx.x % 32 == 0) {
        length[warp] = 0;
    }
    __syncwarp();
    if (x[threadIdx.x] % 2 == 0) {
        int at = length[warp]++;         // BUG
        list[warp][at] = x[threadIdx.x]; // BUG
    }
    __syncwarp();
    if (threadIdx.x % 32 == 0) {
        lengths[warp] = length[warp] + list[warp][0];
    }
}

__global__ void append_by_ballot(const int *x, int *y, int *lengths)
{
    __shared__ int list[4][32];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    bool keep = x[threadIdx.x] % 2 == 0;
    unsigned kept = __ballot_sync(FULL, keep);
    if (keep) {
        list[warp][__popc(kept & ((1u << lane) - 1))] = x[threadIdx.x];
    }
    __syncwarp();
    if (lane < __popc(kept)) {
        y[threadIdx.x] = list[warp][lane];
    }
    if (lane == 0) {
        lengths[warp] = __popc(kept);
    }
}

/* All lanes store the sum that a shuffle gave each of them. */
__global__ void all_lanes_store(const int *x, int *y)
{
    __shared__ int sums[4];
    int value = x[threadIdx.x];
    for (int step = 16; step > 0; step /= 2) {
        value += __shfl_xor_sync(FULL, value, step);
    }
    sums[threadIdx.x / 32] = value; // BUG
    __syncthreads();
    if (threadIdx.x < 4) {
        y[threadIdx.x] = sums[threadIdx.x];
    }
}

__global__ void first_lane_stores(const int *x, int *y)
{
    __shared__ int sums[4];
    int value = x[threadIdx.x];
    for (int step = 16; step > 0; step /= 2) {
        value += __shfl_xor_sync(FULL, value, step);
    }
    if (threadIdx.x % 32 == 0) {
        sums[threadIdx.x / 32] = value;
    }
    __syncthreads();
    if (threadIdx.x < 4) {
        y[threadIdx.x] = sums[threadIdx.x];
    }
}

/* The buffer of the warp is filled again while other lanes read the last values. */
__global__ void refill_no_sync(const int *x, int *y, int rounds)
{
    __shared__ int s[32];
    int lane = threadIdx.x, sum = 0;
    for (int round = 0; round < rounds; round++) {
        s[lane] = x[round * 32 + lane]; // BUG
        __syncwarp();
        sum += s[31 - lane]; // BUG
    }
    y[lane] = sum;
}

__global__ void refill_sync(const int *x, int *y, int rounds)
{
    __shared__ int s[32];
    int lane = threadIdx.x, sum = 0;
    for (int round = 0; round < rounds; round++) {
        s[lane] = x[round * 32 + lane];
        __syncwarp();
        sum += s[31 - lane];
        __syncwarp();
    }
    y[lane] = sum;
}
