/* Atomic operations and fences: missing, in the wrong order, or of too small a scope. */

__device__ float sum_of_block(const float *x)
{
    __shared__ float partial[64];
    partial[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
    __syncthreads();
    for (int step = blockDim.x / 2; step > 0; step /= 2) {
        if (threadIdx.x < step) {
            partial[threadIdx.x] += partial[threadIdx.x + step];
        }
        __syncthreads();
    }
    return partial[0];
}

/* ---- the last block adds up ---- */

__global__ void last_block_no_fence(const float *x, float *sums, float *total, unsigned *arrived)
{
    float mine = sum_of_block(x);
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = mine; // BUG
        unsigned ticket = atomicAdd(arrived, 1u);
        if (ticket == gridDim.x - 1) {
            float sum = 0.0f;
            for (int i = 0; i < gridDim.x; i++) {
                sum += sums[i]; // BUG
            }
            *total = sum;
        }
    }
}

/* The fence comes after the ticket, which may be seen before the sum. */
__global__ void last_block_late_fence(const float *x, float *sums, float *total, unsigned *arrived)
{
    float mine = sum_of_block(x);
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = mine; // BUG
        unsigned ticket = atomicAdd(arrived, 1u);
        __threadfence();
        if (ticket == gridDim.x - 1) {
            float sum = 0.0f;
            for (int i = 0; i < gridDim.x; i++) {
                sum += sums[i]; // BUG
            }
            *total = sum;
        }
    }
}

/* A fence of the block's scope does not order what another block reads. */
__global__ void last_block_block_fence(const float *x, float *sums, float *total, unsigned *arrived)
{
    float mine = sum_of_block(x);
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = mine; // BUG
        __threadfence_block();
        unsigned ticket = atomicAdd(arrived, 1u);
        __threadfence_block();
        if (ticket == gridDim.x - 1) {
            float sum = 0.0f;
            for (int i = 0; i < gridDim.x; i++) {
                sum += sums[i]; // BUG
            }
            *total = sum;
        }
    }
}

/* All threads write, but thread 0 takes the ticket before the others are done. */
__global__ void last_block_no_barrier(const float *x, float *y, float *total, unsigned *arrived)
{
    __shared__ bool last;
    y[blockIdx.x * blockDim.x + threadIdx.x] = 2.0f * x[threadIdx.x]; // BUG
    __threadfence();
    if (threadIdx.x == 0) {
        last = atomicAdd(arrived, 1u) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float sum = 0.0f;
        for (int i = 0; i < gridDim.x * blockDim.x; i++) {
            sum += y[i]; // BUG
        }
        *total = sum;
    }
}

__global__ void last_block(const float *x, float *sums, float *total, unsigned *arrived)
{
    float mine = sum_of_block(x);
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = mine;
        __threadfence();
        unsigned ticket = atomicInc(arrived, gridDim.x - 1);
        if (ticket == gridDim.x - 1) {
            __threadfence();
            float sum = 0.0f;
            for (int i = 0; i < gridDim.x; i++) {
                sum += sums[i];
            }
            *total = sum;
        }
    }
}

/* As in the programming guide: the sums are volatile. */
__global__ void last_block_volatile(const float *x, volatile float *sums, float *total,
                                    unsigned *arrived)
{
    __shared__ bool last;
    float mine = sum_of_block(x);
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = mine;
        __threadfence();
        last = atomicInc(arrived, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float sum = 0.0f;
        for (int i = 0; i < gridDim.x; i++) {
            sum += sums[i];
        }
        *total = sum;
        *arrived = 0;
    }
}

/* All threads of a block write, and its barrier and thread 0's fence publish that. */
__global__ void last_block_of_writers(const float *x, float *y, float *total, unsigned *arrived)
{
    __shared__ bool last;
    y[blockIdx.x * blockDim.x + threadIdx.x] = 2.0f * x[threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(arrived, 1u) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (last) {
        float sum = 0.0f;
        for (int i = 0; i < gridDim.x; i++) {
            sum += y[i * blockDim.x + threadIdx.x];
        }
        atomicAdd(total, sum);
    }
}

/* ---- locks ---- */

__global__ void spin_lock_no_fence(int *lock, int *balance)
{
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) {
        }
        *balance += blockIdx.x; // BUG
        atomicExch(lock, 0);
    }
}

/* The lock is taken by an atomic operation, but released by a plain store. */
__global__ void spin_lock_plain_release(int *lock, int *balance)
{
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) { // BUG
        }
        __threadfence();
        *balance += blockIdx.x;
        __threadfence();
        *lock = 0; // BUG
    }
}

/* Test and set in two steps is no lock. */
__global__ void spin_lock_without_atomic(volatile int *lock, int *balance)
{
    if (threadIdx.x == 0) {
        while (*lock != 0) { // BUG
        }
        *lock = 1; // BUG
        __threadfence();
        *balance += blockIdx.x; // BUG
        __threadfence();
        *lock = 0; // BUG
    }
}

/* One path forgets the lock. */
__global__ void deposit_and_audit(int *lock, int *balance, int *audit)
{
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) {
        }
        __threadfence();
        *balance += blockIdx.x; // BUG
        __threadfence();
        atomicExch(lock, 0);
    }
    if (threadIdx.x == 32 && blockIdx.x == 0) {
        *audit = *balance; // BUG
    }
}

__global__ void spin_lock(int *lock, int *balance)
{
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) {
        }
        __threadfence();
        *balance += blockIdx.x;
        __threadfence();
        atomicExch(lock, 0);
    }
}

/* Every thread takes the lock; since Volta lanes of a warp may wait for one another. */
__global__ void spin_lock_in_a_warp(int *lock, int *balance)
{
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            __threadfence();
            *balance += 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}

__global__ void ticket_lock_no_fence(unsigned *next, volatile unsigned *serving, int *balance)
{
    if (threadIdx.x == 0) {
        unsigned mine = atomicAdd(next, 1u);
        while (*serving != mine) {
        }
        *balance += 3; // BUG
        *serving = mine + 1;
    }
}

__global__ void ticket_lock(unsigned *next, volatile unsigned *serving, int *balance)
{
    if (threadIdx.x == 0) {
        unsigned mine = atomicAdd(next, 1u);
        while (*serving != mine) {
        }
        __threadfence();
        *balance += 3;
        __threadfence();
        *serving = mine + 1;
    }
}

/* ---- barriers of the grid ---- */

__global__ void grid_barrier_no_fence(const int *x, int *y, int *z, volatile int *arrived)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    y[i] = 2 * x[i]; // BUG
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd((int *)arrived, 1);
        while (*arrived < gridDim.x) {
        }
    }
    __syncthreads();
    z[i] = y[n - 1 - i]; // BUG
}

__global__ void grid_barrier(const int *x, int *y, int *z, volatile int *arrived)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    y[i] = 2 * x[i];
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd((int *)arrived, 1);
        while (*arrived < gridDim.x) {
        }
        __threadfence();
    }
    __syncthreads();
    z[i] = y[n - 1 - i];
}

/* ---- handing data over ---- */

__global__ void flag_plain(int *data, int *flag, int *out)
{
    if (threadIdx.x == 0) {
        if (blockIdx.x == 0) {
            *data = 42;
            __threadfence();
            *flag = 1; // BUG
        } else {
            out[blockIdx.x] = *flag; // BUG
        }
    }
}

__global__ void flag_volatile_no_fence(int *data, volatile int *flag, int *out)
{
    if (threadIdx.x == 0) {
        if (blockIdx.x == 0) {
            *data = 42; // BUG
            *flag = 1;
        } else {
            while (*flag == 0) {
            }
            out[blockIdx.x] = *data; // BUG
        }
    }
}

/* The consumer has no fence between the flag and the data. */
__global__ void flag_fence_of_producer_only(int *data, volatile int *flag, int *out)
{
    if (threadIdx.x == 0) {
        if (blockIdx.x == 0) {
            *data = 42; // BUG
            __threadfence();
            *flag = 1;
        } else {
            while (*flag == 0) {
            }
            out[blockIdx.x] = *data; // BUG
        }
    }
}

__global__ void flag_volatile(int *data, volatile int *flag, int *out)
{
    if (threadIdx.x == 0) {
        if (blockIdx.x == 0) {
            *data = 42;
            __threadfence();
            *flag = 1;
        } else {
            while (*flag == 0) {
            }
            __threadfence();
            out[blockIdx.x] = *data;
        }
    }
}

__global__ void flag_atomic(int *data, int *flag, int *out)
{
    if (threadIdx.x == 0) {
        if (blockIdx.x == 0) {
            *data = 42;
            __threadfence();
            atomicExch(flag, 1);
        } else {
            while (atomicAdd(flag, 0) == 0) {
            }
            __threadfence();
            out[blockIdx.x] = *data;
        }
    }
}

__global__ void flag_between_warps(const int *x, int *y)
{
    __shared__ int data;
    __shared__ volatile int ready;
    if (threadIdx.x == 0) {
        ready = 0;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        data = x[0];
        __threadfence_block();
        ready = 1;
    } else if (threadIdx.x == 32) {
        while (ready == 0) {
        }
        __threadfence_block();
        *y = data;
    }
}

/* The position is published before the item is stored. */
__global__ void ring_published_early(int *slots, volatile int *tail, int *out, int n)
{
    if (threadIdx.x == 0) {
        if (blockIdx.x == 0) {
            for (int i = 0; i < n; i++) {
                *tail = i + 1;
                __threadfence();
                slots[i] = i * i; // BUG
            }
        } else {
            for (int i = 0; i < n; i++) {
                while (*tail <= i) {
                }
                __threadfence();
                out[i] = slots[i]; // BUG
            }
        }
    }
}

__global__ void ring(int *slots, volatile int *tail, int *out, int n)
{
    if (threadIdx.x == 0) {
        if (blockIdx.x == 0) {
            for (int i = 0; i < n; i++) {
                slots[i] = i * i;
                __threadfence();
                *tail = i + 1;
            }
        } else {
            for (int i = 0; i < n; i++) {
                while (*tail <= i) {
                }
                __threadfence();
                out[i] = slots[i];
            }
        }
    }
}

/* A node of a list is linked before what it holds can be seen. */
__global__ void push_no_fence(int *values, int *next, int *head, int *out)
{
    if (threadIdx.x == 0) {
        int node = blockIdx.x;
        values[node] = 10 * node; // BUG
        int old = atomicExch(head, node);
        next[node] = old;
        if (old >= 0) {
            out[node] = values[old]; // BUG
        }
    }
}

__global__ void push(int *values, int *next, int *head, int *out)
{
    if (threadIdx.x == 0) {
        int node = blockIdx.x;
        values[node] = 10 * node;
        __threadfence();
        int old = atomicExch(head, node);
        __threadfence();
        next[node] = old;
        if (old >= 0) {
            out[node] = values[old];
        }
    }
}

/* ---- scopes, and plain accesses beside atomic ones ---- */

__global__ void block_scope_across_blocks(const int *x, int *count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (x[i] >= 0) {
        atomicAdd_block(count, 1); // BUG
    }
}

/* Each block has a counter of its own. */
__global__ void block_scope_within_block(const int *x, int *counts)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (x[i] >= 0) {
        atomicAdd_block(&counts[blockIdx.x], 1);
    }
}

__global__ void plain_read_beside_atomic(const int *x, int *count, int *seen, int limit)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (*count < limit) {              // BUG
        seen[i] = atomicAdd(count, 1); // BUG
    }
}

__global__ void atomic_read_beside_atomic(const int *x, int *count, int *seen, int limit)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (atomicAdd(count, 0) < limit) {
        seen[i] = atomicAdd(count, 1);
    }
}

/* Values are compared by an atomic operation, but first read and last fixed up plainly. */
__global__ void float_maximum_plain_read(const float *x, float *best)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int *bits = reinterpret_cast<int *>(best);
    int old = *bits; // BUG
    while (x[i] > __int_as_float(old)) {
        int seen = atomicCAS(bits, old, __float_as_int(x[i])); // BUG
        if (seen == old) {
            break;
        }
        old = seen;
    }
}

__global__ void float_maximum(const float *x, float *best)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int *bits = reinterpret_cast<int *>(best);
    int old = atomicCAS(bits, 0, 0);
    while (x[i] > __int_as_float(old)) {
        int seen = atomicCAS(bits, old, __float_as_int(x[i]));
        if (seen == old) {
            break;
        }
        old = seen;
    }
}

/* The table is built once, by whoever comes first, and used by those who see "ready". */
__global__ void lazy_table(float *table, int *state, float *out)
{
    if (threadIdx.x == 0) {
        if (atomicCAS(state, 0, 1) == 0) {
            table[0] = 3.0f; // BUG
            atomicExch(state, 2);
        }
        while (atomicAdd(state, 0) != 2) {
        }
        out[blockIdx.x] = table[0]; // BUG
    }
}

__global__ void lazy_table_fences(float *table, int *state, float *out)
{
    if (threadIdx.x == 0) {
        if (atomicCAS(state, 0, 1) == 0) {
            table[0] = 3.0f;
            __threadfence();
            atomicExch(state, 2);
        }
        while (atomicAdd(state, 0) != 2) {
        }
        __threadfence();
        out[blockIdx.x] = table[0];
    }
}

/* ---- aggregated and chained ---- */

__global__ void compact_aggregated(const int *x, int *y, int *count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    if (x[i] % 3 == 0) {
        unsigned active = __activemask();
        int leader = __ffs(active) - 1, base = 0;
        if (lane == leader) {
            base = atomicAdd(count, __popc(active));
        }
        base = __shfl_sync(active, base, leader);
        y[base + __popc(active & ((1u << lane) - 1))] = x[i];
    }
}

/* A scan with decoupled look-back: state 1 is a block's own sum, 2 is the sum of all before. */
__global__ void scan_look_back(const int *x, int *y, volatile int *state, volatile int *own,
                               volatile int *inclusive)
{
    __shared__ int sums[64];
    __shared__ int before;
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    sums[t] = x[i];
    __syncthreads();
    for (int step = 1; step < 64; step *= 2) {
        int left = t >= step ? sums[t - step] : 0;
        __syncthreads();
        sums[t] += left;
        __syncthreads();
    }
    if (t == 0) {
        int prefix = 0;
        if (blockIdx.x > 0) {
            own[blockIdx.x] = sums[63];
            __threadfence();
            state[blockIdx.x] = 1;
            for (int block = blockIdx.x - 1; block >= 0; block--) {
                int seen = state[block];
                while (seen == 0) {
                    seen = state[block];
                }
                __threadfence();
                if (seen == 2) {
                    prefix += inclusive[block];
                    break;
                }
                prefix += own[block];
            }
        }
        inclusive[blockIdx.x] = prefix + sums[63];
        __threadfence();
        state[blockIdx.x] = 2;
        before = prefix;
    }
    __syncthreads();
    y[i] = before + sums[t];
}

/* The look-back reads the sums without waiting for their state. */
__global__ void scan_look_back_no_state(const int *x, int *y, int *inclusive)
{
    __shared__ int before;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) {
        before = blockIdx.x > 0 ? inclusive[blockIdx.x - 1] : 0; // BUG
        inclusive[blockIdx.x] = before + x[i];                   // BUG
    }
    __syncthreads();
    y[i] = x[i] + before;
}
