// Breadth-first search, level by level, over a graph in CSR form. The vertices of the next level
// go into a queue; a block collects its own in shared memory first.
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <utility>
#include <vector>
#include <cuda_runtime.h>

#define BLOCK_CAPACITY 512
#define UNSEEN (-1)

struct Graph
{
    int        vertices;
    const int *rows;        // vertices + 1: where the neighbours of each begin
    const int *columns;
};

__global__ void bfs_level(Graph graph, const int *frontier, int size, int *levels, int level,
                          int *next, int *next_size)
{
    __shared__ int local[BLOCK_CAPACITY];
    __shared__ int local_size, base;

    if (threadIdx.x == 0)
        local_size = 0;
    __syncthreads();

    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < size)
    {
        const int v = frontier[t];
        for (int e = graph.rows[v]; e < graph.rows[v + 1]; ++e)
        {
            const int neighbour = graph.columns[e];
            // Exactly one thread finds it unseen.
            if (atomicCAS(&levels[neighbour], UNSEEN, level) == UNSEEN)
            {
                const int slot = atomicAdd(&local_size, 1);
                if (slot < BLOCK_CAPACITY)
                    local[slot] = neighbour;
                else
                    next[atomicAdd(next_size, 1)] = neighbour;
            }
        }
    }
    __syncthreads();

    const int kept = min(local_size, BLOCK_CAPACITY);
    if (threadIdx.x == 0)
        base = atomicAdd(next_size, kept);
    __syncthreads();
    for (int i = threadIdx.x; i < kept; i += blockDim.x)
        next[base + i] = local[i];
}

static std::pair<std::vector<int>, std::vector<int>> random_graph(int vertices, int degree)
{
    std::vector<std::vector<int>> adjacency(vertices);
    unsigned long long state = 88172645463325252ull;
    const auto random = [&state] {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        return state;
    };
    for (int v = 0; v < vertices; ++v)
        for (int k = 0; k < degree / 2; ++k)
        {
            const int w = static_cast<int>(random() % vertices);
            adjacency[v].push_back(w);
            adjacency[w].push_back(v);
        }
    std::vector<int> rows{0}, columns;
    for (const auto &neighbours : adjacency)
    {
        columns.insert(columns.end(), neighbours.begin(), neighbours.end());
        rows.push_back(static_cast<int>(columns.size()));
    }
    return {std::move(rows), std::move(columns)};
}

static std::vector<int> bfs_host(const std::vector<int> &rows, const std::vector<int> &columns, int source)
{
    std::vector<int> levels(rows.size() - 1, UNSEEN);
    std::deque<int> queue{source};
    for (levels[source] = 0; !queue.empty(); queue.pop_front())
        for (int v = queue.front(), e = rows[v]; e < rows[v + 1]; ++e)
            if (levels[columns[e]] == UNSEEN)
            {
                levels[columns[e]] = levels[v] + 1;
                queue.push_back(columns[e]);
            }
    return levels;
}

template <typename T>
static T *to_device(const T *from, size_t n)
{
    T *p = nullptr;
    if (cudaMalloc(&p, n * sizeof(T)) != cudaSuccess ||
        cudaMemcpy(p, from, n * sizeof(T), cudaMemcpyHostToDevice) != cudaSuccess)
    {
        std::cerr << "CUDA: " << cudaGetErrorString(cudaGetLastError()) << std::endl;
        std::exit(1);
    }
    return p;
}

int main(int argc, char *argv[])
{
    const int vertices = argc > 1 ? std::atoi(argv[1]) : 20000, source = 0;
    const auto graph = random_graph(vertices, 8);
    const std::vector<int> &rows = graph.first, &columns = graph.second;
    std::vector<int> levels(vertices, UNSEEN);
    levels[source] = 0;

    int *d_rows = to_device(rows.data(), rows.size()), *d_columns = to_device(columns.data(), columns.size());
    int *d_levels = to_device(levels.data(), levels.size());
    int *frontier = to_device(levels.data(), levels.size()), *next = to_device(levels.data(), levels.size());
    int size = 1, zero = 0, *next_size = to_device(&zero, 1);
    cudaMemcpy(frontier, &source, sizeof(int), cudaMemcpyHostToDevice);

    int level = 0;
    while (size > 0)
    {
        std::cout << "level " << level++ << ": " << size << " vertices" << std::endl;
        cudaMemset(next_size, 0, sizeof(int));
        bfs_level<<<(size + 255) / 256, 256>>>(Graph{vertices, d_rows, d_columns}, frontier, size, d_levels,
                                               level, next, next_size);
        if (cudaMemcpy(&size, next_size, sizeof(int), cudaMemcpyDeviceToHost) != cudaSuccess)
            return 1;
        std::swap(frontier, next);
    }
    cudaMemcpy(levels.data(), d_levels, vertices * sizeof(int), cudaMemcpyDeviceToHost);
    for (int *p : {d_rows, d_columns, d_levels, frontier, next, next_size})
        cudaFree(p);
    if (levels != bfs_host(rows, columns, source))
    {
        std::cout << "levels differ" << std::endl;
        return 1;
    }
    std::cout << "OK" << std::endl;
    return 0;
}
