// One level of a breadth-first search, with a queue of each block in shared memory.
#define QUEUE 512

__global__ void bfs_kernel(unsigned int level, const unsigned int *rowPointers,
                           const unsigned int *neighbours, unsigned int *levels,
                           const unsigned int *prevFrontier, unsigned int *currFrontier,
                           unsigned int numPrevFrontier, unsigned int *numCurrFrontier)
{
    __shared__ unsigned int queue[QUEUE];
    __shared__ unsigned int count, start;
    if (threadIdx.x == 0) {
        count = 0;
    }
    __syncthreads();

    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < numPrevFrontier) {
        unsigned int vertex = prevFrontier[i];
        for (unsigned int edge = rowPointers[vertex]; edge < rowPointers[vertex + 1]; ++edge) {
            unsigned int neighbour = neighbours[edge];
            if (atomicCAS(&levels[neighbour], 0xffffffffu, level) == 0xffffffffu) {
                unsigned int at = atomicAdd(&count, 1);
                if (at < QUEUE) {
                    queue[at] = neighbour;
                } else {
                    currFrontier[atomicAdd(numCurrFrontier, 1)] = neighbour;
                }
            }
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        count = count < QUEUE ? count : QUEUE;
        start = atomicAdd(numCurrFrontier, count);
    }
    __syncthreads();
    for (unsigned int k = threadIdx.x; k < count; k += blockDim.x) {
        currFrontier[start + k] = queue[k];
    }
}
