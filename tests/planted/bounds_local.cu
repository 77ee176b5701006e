/* Accesses outside of local arrays, and their correct twins. */

/* The loop runs over nine of eight registers. */
__global__ void row_inclusive(const float *x, float *y, int n)
{
    float row[8];
    for (int i = 0; i <= n; i++) {
        row[i] = x[i]; // BUG
    }
    float sum = 0.0f;
    for (int i = 0; i < n; i++) {
        sum += row[(i * 3 + threadIdx.x) % n];
    }
    y[threadIdx.x] = sum;
}

__global__ void row_exclusive(const float *x, float *y, int n)
{
    float row[8];
    for (int i = 0; i < n; i++) {
        row[i] = x[i];
    }
    float sum = 0.0f;
    for (int i = 0; i < n; i++) {
        sum += row[(i * 3 + threadIdx.x) % n];
    }
    y[threadIdx.x] = sum;
}

/* A stack for a tree walk that is one level too small. */
__global__ void walk_stack_too_small(const int *children, int *y, int depth)
{
    int stack[4];
    int top = 0, sum = 0;
    for (int i = 0; i < depth; i++) {
        stack[top++] = children[i]; // BUG
    }
    while (top > 0) {
        sum += stack[--top] * (threadIdx.x + 1); // BUG
    }
    y[threadIdx.x] = sum;
}

__global__ void walk_stack(const int *children, int *y, int depth)
{
    int stack[16];
    int top = 0, sum = 0;
    for (int i = 0; i < depth && top < 16; i++) {
        stack[top++] = children[i];
    }
    while (top > 0) {
        sum += stack[--top] * (threadIdx.x + 1);
    }
    y[threadIdx.x] = sum;
}

/* The thread's index is used where a local array has four elements. */
__global__ void local_by_thread(const float *x, float *y)
{
    float weights[4] = {0.1f, 0.2f, 0.3f, 0.4f};
    y[threadIdx.x] = x[threadIdx.x] * weights[threadIdx.x]; // BUG
}

__global__ void local_by_thread_modulo(const float *x, float *y)
{
    float weights[4] = {0.1f, 0.2f, 0.3f, 0.4f};
    y[threadIdx.x] = x[threadIdx.x] * weights[threadIdx.x % 4];
}

/* Insertion sort of the best three looks at the element before the first. */
__global__ void best_three_underflow(const int *x, int *y, int n)
{
    int best[3] = {-1, -1, -1};
    for (int i = 0; i < n; i++) {
        int at = 2;
        while (best[at] < x[i]) { // BUG
            if (at < 2) {
                best[at + 1] = best[at];
            }
            best[at] = x[i]; // BUG
            at--;
        }
    }
    y[threadIdx.x] = best[0] + best[1] + best[2];
}

__global__ void best_three(const int *x, int *y, int n)
{
    int best[3] = {-1, -1, -1};
    for (int i = 0; i < n; i++) {
        int at = 2;
        while (at >= 0 && best[at] < x[i]) {
            if (at < 2) {
                best[at + 1] = best[at];
            }
            best[at] = x[i];
            at--;
        }
    }
    y[threadIdx.x] = best[0] + best[1] + best[2];
}

struct matrix {
    float m[3][3];
    float trace;
};

/* The fourth row of a 3 × 3 matrix, which is another member of the structure. */
__global__ void beyond_member(const float *x, float *y, int n)
{
    matrix a;
    a.trace = 0.0f;
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            a.m[i][j] = x[3 * i + j];
        }
    }
    float sum = a.trace;
    for (int i = 0; i < n; i++) {
        sum += a.m[i][(threadIdx.x + i) % 3]; // BUG
    }
    y[threadIdx.x] = sum;
}

/* A local array of another function, handed over by pointer, and a length that is not its own. */
__device__ float sum_of(const float *values, int n)
{
    float sum = 0.0f;
    for (int i = 0; i < n; i++) {
        sum += values[i]; // BUG
    }
    return sum;
}

__global__ void local_passed_on(const float *x, float *y, int n)
{
    float window[5];
    for (int i = 0; i < 5; i++) {
        window[i] = x[threadIdx.x + i];
    }
    y[threadIdx.x] = sum_of(window, n);
}
