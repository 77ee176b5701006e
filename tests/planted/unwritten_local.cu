/* Reads of local variables that nothing wrote, and their correct twins. */

__global__ void sum_not_started(const int *x, int *y, int n)
{
    int sum;
    for (int i = 0; i < n; i++) {
        sum += x[i * blockDim.x + threadIdx.x]; // BUG
    }
    y[threadIdx.x] = sum; // BUG
}

__global__ void sum_started(const int *x, int *y, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++) {
        sum += x[i * blockDim.x + threadIdx.x];
    }
    y[threadIdx.x] = sum;
}

/* No case matches, and there is no default. */
__global__ void switch_without_default(const int *x, int *y)
{
    int weight;
    switch (x[threadIdx.x] % 4) {
    case 0: weight = 10; break;
    case 1: weight = 20; break;
    case 2: weight = 30; break;
    }
    y[threadIdx.x] = weight; // BUG
}

__global__ void switch_with_default(const int *x, int *y)
{
    int weight;
    switch (x[threadIdx.x] % 4) {
    case 0: weight = 10; break;
    case 1: weight = 20; break;
    case 2: weight = 30; break;
    default: weight = 0; break;
    }
    y[threadIdx.x] = weight;
}

/* Of eight registers the loop fills n. */
__global__ void array_partly_filled(const float *x, float *y, int n)
{
    float row[8];
    for (int i = 0; i < n; i++) {
        row[i] = x[i];
    }
    float sum = 0.0f;
    for (int i = 0; i < 8; i++) {
        sum += row[(i + threadIdx.x) % 8]; // BUG
    }
    y[threadIdx.x] = sum;
}

__global__ void array_filled(const float *x, float *y, int n)
{
    float row[8];
    for (int i = 0; i < 8; i++) {
        row[i] = i < n ? x[i] : 0.0f;
    }
    float sum = 0.0f;
    for (int i = 0; i < 8; i++) {
        sum += row[(i + threadIdx.x) % 8];
    }
    y[threadIdx.x] = sum;
}

struct ray {
    float origin, direction, length;
};

__device__ void trace(const ray *r, float *hit)
{
    *hit = r->origin + r->direction * r->length; // BUG
}

/* One member of the structure is not set. */
__global__ void member_not_set(const float *x, float *y)
{
    ray r;
    r.origin = x[threadIdx.x];
    r.direction = 1.0f;
    trace(&r, &y[threadIdx.x]);
}

__global__ void members_set(const float *x, float *y)
{
    ray r;
    r.origin = x[threadIdx.x];
    r.direction = 1.0f;
    r.length = 2.0f;
    trace(&r, &y[threadIdx.x]);
}

/* Only lanes that find something set the position. */
__global__ void position_if_found(const int *x, int *y, int key, int n)
{
    int position;
    for (int i = 0; i < n; i++) {
        if (x[i] == key + (int)threadIdx.x) {
            position = i;
        }
    }
    y[threadIdx.x] = position; // BUG
}

__global__ void position_or_none(const int *x, int *y, int key, int n)
{
    int position = -1;
    for (int i = 0; i < n; i++) {
        if (x[i] == key + (int)threadIdx.x) {
            position = i;
        }
    }
    y[threadIdx.x] = position;
}
