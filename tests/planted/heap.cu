/* Memory that kernels get from malloc and new, and give back. */

__global__ void heap_past_the_end(int *y, int n)
{
    int *scratch = static_cast<int *>(malloc(n * sizeof(int)));
    for (int i = 0; i <= n; i++) {
        scratch[i] = i; // BUG
    }
    y[threadIdx.x] = scratch[threadIdx.x % n];
    free(scratch);
}

__global__ void heap_freed_twice(int *y, int n)
{
    int *scratch = new int[n];
    for (int i = 0; i < n; i++) {
        scratch[i] = i;
    }
    y[threadIdx.x] = scratch[threadIdx.x % n];
    if (n > 16) {
        delete[] scratch;
    }
    delete[] scratch; // BUG
}

__global__ void heap_freed_once(int *y, int n)
{
    int *scratch = new int[n];
    for (int i = 0; i < n; i++) {
        scratch[i] = i;
    }
    y[threadIdx.x] = scratch[threadIdx.x % n];
    delete[] scratch;
}

__global__ void heap_read_before_written(int *y, int n)
{
    int *scratch = static_cast<int *>(malloc(n * sizeof(int)));
    for (int i = 1; i < n; i++) {
        scratch[i] = i;
    }
    y[threadIdx.x] = scratch[threadIdx.x % n]; // BUG
    free(scratch);
}

/* No barrier: others may still read. */
__global__ void heap_freed_too_early(int *y, int n)
{
    __shared__ int *scratch;
    if (threadIdx.x == 0) {
        scratch = static_cast<int *>(malloc(n * sizeof(int)));
        for (int i = 0; i < n; i++) {
            scratch[i] = i;
        }
    }
    __syncthreads();
    y[threadIdx.x] = scratch[threadIdx.x % n];
    if (threadIdx.x == blockDim.x - 1) {
        free(scratch); // BUG
    }
}

/* 32 threads ask for 512 KiB each, of 8 MiB in all. */
__global__ void heap_exhausted(int *y, int n)
{
    int *large = static_cast<int *>(malloc(n * sizeof(int)));
    large[0] = threadIdx.x; // BUG
    y[threadIdx.x] = large[0];
    __syncthreads();
    free(large);
}

__global__ void heap_exhausted_tested(int *y, int n)
{
    int *large = new int[n];
    y[threadIdx.x] = -1;
    if (large != nullptr) {
        large[0] = threadIdx.x;
        y[threadIdx.x] = large[0];
    }
    __syncthreads();
    delete[] large;
}

__global__ void heap_frees_an_argument(int *y, int n)
{
    int *mine = y + threadIdx.x;
    *mine = n;
    free(mine); // BUG
}

__global__ void heap_frees_the_middle(int *y, int n)
{
    char *at = static_cast<char *>(malloc(n));
    for (int i = 0; i < n; i++) {
        *at++ = 1;
    }
    y[threadIdx.x] = at[-1];
    free(at); // BUG
}

struct Node {
    int value;
    Node *next;
    __device__ Node(int v, Node *n) : value(v), next(n)
    {
    }
};

/* The list is taken apart while it is walked. */
__global__ void heap_list_next_after_delete(int *y, int n)
{
    Node *list = nullptr;
    for (int i = 0; i < n; i++) {
        list = new Node(i, list);
    }
    int sum = 0;
    for (Node *at = list; at; at = at->next) { // BUG
        sum += at->value;
        delete at;
    }
    y[threadIdx.x] = sum;
}

__global__ void heap_list(int *y, int n)
{
    Node *list = nullptr;
    for (int i = 0; i < n; i++) {
        list = new Node(i, list);
    }
    int sum = 0;
    while (list) {
        Node *next = list->next;
        sum += list->value;
        delete list;
        list = next;
    }
    y[threadIdx.x] = sum;
}

struct Shape {
    __device__ virtual int area() const = 0;
    __device__ virtual ~Shape()
    {
    }
};

struct Square : Shape {
    int side;
    __device__ explicit Square(int s) : side(s)
    {
    }
    __device__ int area() const override
    {
        return side * side;
    }
};

__global__ void heap_shapes(int *y, int n)
{
    Shape *shape = new Square(n + threadIdx.x);
    y[threadIdx.x] = shape->area();
    delete shape;
}

/* What is not freed is no bug of the kernel's. */
__global__ void heap_leak(int *y, int n)
{
    int *scratch = static_cast<int *>(malloc(n * sizeof(int)));
    scratch[0] = threadIdx.x;
    y[threadIdx.x] = scratch[0];
}

/* The threads of a block grow an array that they share. */
__global__ void heap_grows(int *y, int n)
{
    __shared__ int *data;
    for (int size = 32; size <= n; size *= 2) {
        __shared__ int *old;
        if (threadIdx.x == 0) {
            old = size == 32 ? nullptr : data;
            data = static_cast<int *>(malloc(size * sizeof(int)));
        }
        __syncthreads();
        for (int i = threadIdx.x; i < size; i += blockDim.x) {
            data[i] = old && i < size / 2 ? old[i] : i;
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            free(old);
        }
    }
    y[threadIdx.x] = data[n - 1 - threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
        free(data);
    }
}
