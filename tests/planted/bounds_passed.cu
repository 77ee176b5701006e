/* Local arrays that are used by pointer, outside of their bounds and within. */

template <typename type> __device__ void insertion_sort(type *first, type *last)
{
    for (type *at = first + 1; at < last; at++) {
        type value = *at, *to = at;
        for (; to > first && to[-1] > value; to--) {
            *to = to[-1];
        }
        *to = value;
    }
}

template <typename type, int count> __global__ void sort_five(const type *x, type *y)
{
    type window[count], copy[count];
    for (int i = 0; i < count; i++) {
        window[i] = x[threadIdx.x + i];
    }
    memcpy(copy, window, sizeof(copy));
    insertion_sort(copy, copy + count);
    y[threadIdx.x] = copy[count / 2];
}

template __global__ void sort_five<float, 5>(const float *x, float *y);

__global__ void median_of_five(const float *x, float *y)
{
    float window[5], *at = window;
    for (float *end = window + 5; at < end; at++) {
        *at = x[threadIdx.x + (at - window)];
    }
    insertion_sort(window, window + 5);
    y[threadIdx.x] = window[2];
}

__device__ __noinline__ void add_one(float *values, int count)
{
    for (int i = 0; i <= count; i++) {
        values[i] += 1.0f; // BUG
    }
}

__global__ void written_past_the_end(const float *x, float *y)
{
    alignas(16) float values[4] = {x[threadIdx.x], x[threadIdx.x + 1], x[threadIdx.x + 2],
                                   x[threadIdx.x + 3]};
    add_one(values, 4);
    y[threadIdx.x] = values[0] + values[3];
}

__global__ void written_within(const float *x, float *y)
{
    alignas(16) float values[4] = {x[threadIdx.x], x[threadIdx.x + 1], x[threadIdx.x + 2],
                                   x[threadIdx.x + 3]};
    add_one(values, 3);
    y[threadIdx.x] = values[0] + values[3];
}

/* The pointer begins before the array, for indices from 1. */
__global__ void from_one_to_n(const int *x, int *y, int first)
{
    int count[8] = {0, 0, 0};
    int *from_one = count - 1;
    for (int i = first; i <= 8; i++) {
        from_one[i] += x[threadIdx.x]; // BUG
    }
    y[threadIdx.x] = count[0] + count[7];
}

/* A row of a matrix, and the row after the last. */
__device__ float dot(const float *a, const float *b, int n)
{
    float sum = 0.0f;
    for (int i = 0; i < n; i++) {
        sum += a[i] * b[i]; // BUG
    }
    return sum;
}

__global__ void rows_by_rows(const float *x, float *y, int rows)
{
    float m[3][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}}, sum = 0.0f;
    const float weights[4] = {1.0f, x[0], x[1], x[2]};
    for (int r = 0; r < rows; r++) {
        sum += dot(m[r % 4], weights, 4); // BUG
    }
    y[threadIdx.x] = sum;
}

/* The array is in a loop, in a lambda and in a switch, and its functions call themselves. */
struct Item {
    int key;
    float value;
    __device__ Item() : key(-1), value(0.0f)
    {
    }
};

__device__ int depth_of(const Item *items, int at)
{
    Item copies[2];
    copies[0] = items[at];
    return copies[0].key < 0 ? 1 : 1 + depth_of(items, copies[0].key);
}

__device__ int kind_of(int kind, const int *x)
{
    switch (kind) {
    case 0:
        int pair[2];
        memcpy(pair, x, sizeof(pair));
        return pair[0] + pair[1];
    case 1: return x[0];
    default: {
        int three[3] = {x[0], x[1], x[2]};
        const int *at = three;
        return at[0] + at[2];
    }
    }
}

__global__ void arrays_everywhere(const int *x, int *y)
{
    int sum = 0;
    for (int round = 0; round < 3; round++) {
        Item items[4];
        for (int i = 0; i < round; i++) {
            items[i].key = i + 1;
        }
        sum += depth_of(items, 0);
        char name[6] = "round";
        auto length = [&](const char *text) {
            char copy[8];
            int n = 0;
            for (char *to = copy; (*to = text[n]) != 0; to++) {
                n++;
            }
            return n;
        };
        sum += length(name);
        int digits[10] = {};
        for (int &digit : digits) {
            digit = round;
        }
        auto by_value = [digits](int i) { return digits[i]; };
        sum += by_value(9);
    }
    y[threadIdx.x] = sum + kind_of(threadIdx.x % 3, x + threadIdx.x);
}
