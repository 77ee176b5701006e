// Prefix sums: Hillis and Steele, Blelloch with padding against bank conflicts, decoupled
// look-back.
__global__ void scanHillisSteele(const int *in, int *out, int n)
{
    extern __shared__ int temp[];
    int tid = threadIdx.x;
    int pout = 0, pin = 1;
    temp[pout * n + tid] = in[blockIdx.x * n + tid];
    __syncthreads();
    for (int offset = 1; offset < n; offset *= 2) {
        pout = 1 - pout;
        pin = 1 - pout;
        if (tid >= offset) {
            temp[pout * n + tid] = temp[pin * n + tid] + temp[pin * n + tid - offset];
        } else {
            temp[pout * n + tid] = temp[pin * n + tid];
        }
        __syncthreads();
    }
    out[blockIdx.x * n + tid] = temp[pout * n + tid];
}

#define LOG_NUM_BANKS 5
#define CONFLICT_FREE_OFFSET(i) ((i) >> LOG_NUM_BANKS)

__global__ void prescan(float *g_odata, const float *g_idata, int n)
{
    extern __shared__ float padded[];
    int thid = threadIdx.x;
    int offset = 1;
    g_idata += blockIdx.x * n;
    g_odata += blockIdx.x * n;

    int ai = thid;
    int bi = thid + (n / 2);
    int bankOffsetA = CONFLICT_FREE_OFFSET(ai);
    int bankOffsetB = CONFLICT_FREE_OFFSET(bi);
    padded[ai + bankOffsetA] = g_idata[ai];
    padded[bi + bankOffsetB] = g_idata[bi];

    for (int d = n >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (thid < d) {
            int a = offset * (2 * thid + 1) - 1;
            int b = offset * (2 * thid + 2) - 1;
            a += CONFLICT_FREE_OFFSET(a);
            b += CONFLICT_FREE_OFFSET(b);
            padded[b] += padded[a];
        }
        offset *= 2;
    }
    if (thid == 0) {
        padded[n - 1 + CONFLICT_FREE_OFFSET(n - 1)] = 0;
    }
    for (int d = 1; d < n; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (thid < d) {
            int a = offset * (2 * thid + 1) - 1;
            int b = offset * (2 * thid + 2) - 1;
            a += CONFLICT_FREE_OFFSET(a);
            b += CONFLICT_FREE_OFFSET(b);
            float t = padded[a];
            padded[a] = padded[b];
            padded[b] += t;
        }
    }
    __syncthreads();
    g_odata[ai] = padded[ai + bankOffsetA];
    g_odata[bi] = padded[bi + bankOffsetB];
}

enum : unsigned { EMPTY = 0, AGGREGATE = 1, PREFIX = 2 };

// One pass over the array: a block waits for the sums of the blocks before it. status holds a flag
// in the upper and a sum in the lower half.
__global__ void scanLookBack(const unsigned *in, unsigned *out, unsigned long long *status,
                             unsigned *ticket)
{
    __shared__ unsigned tileIndex, exclusive;
    __shared__ unsigned warpSums[8];
    if (threadIdx.x == 0) {
        tileIndex = atomicAdd(ticket, 1);
    }
    __syncthreads();
    const unsigned tile = tileIndex;
    const unsigned lane = threadIdx.x & 31, warp = threadIdx.x >> 5;

    unsigned v = in[tile * 256 + threadIdx.x];
    for (unsigned d = 1; d < 32; d <<= 1) {
        unsigned other = __shfl_up_sync(~0u, v, d);
        if (lane >= d) {
            v += other;
        }
    }
    if (lane == 31) {
        warpSums[warp] = v;
    }
    __syncthreads();
    unsigned before = 0, total = 0;
    for (unsigned w = 0; w < 8; w++) {
        before += w < warp ? warpSums[w] : 0;
        total += warpSums[w];
    }

    if (threadIdx.x == 0) {
        unsigned long long flag = tile == 0 ? PREFIX : AGGREGATE;
        atomicExch(&status[tile], flag << 32 | total);
        unsigned sum = 0;
        for (int prior = (int)tile - 1; prior >= 0;) {
            unsigned long long seen = atomicAdd(&status[prior], 0ull);
            if (seen >> 32 == EMPTY) {
                continue;
            }
            sum += (unsigned)seen;
            if (seen >> 32 == PREFIX) {
                break;
            }
            prior--;
        }
        if (tile > 0) {
            atomicExch(&status[tile], (unsigned long long)PREFIX << 32 | (sum + total));
        }
        exclusive = sum;
    }
    __syncthreads();
    out[tile * 256 + threadIdx.x] = exclusive + before + v;
}
