/* All shortest paths after Floyd and Warshall: one launch for each intermediate vertex.
 *
 * Within a launch row k and column k do not change (no distance from k to k is negative), so no
 * thread reads what another writes: only what becomes shorter is stored. */

#include <cuda_runtime.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <limits.h>

#define INF (INT_MAX / 2)
#define THREADS_X 32
#define THREADS_Y 8

#define TRY(expr) \
	do { \
		cudaError_t try_status = (expr); \
		if (try_status != cudaSuccess) { \
			fprintf(stderr, "%s:%d: " #expr ": %s\n", __FILE__, __LINE__, \
				cudaGetErrorString(try_status)); \
			goto fail; \
		} \
	} while (0)

__global__ void relax(int *__restrict__ dist, int *__restrict__ via, int n, int k)
{
	int i = blockIdx.y * blockDim.y + threadIdx.y;
	int j = blockIdx.x * blockDim.x + threadIdx.x;
	int candidate;

	if (i >= n || j >= n)
		return;
	candidate = dist[i * n + k] + dist[k * n + j];
	if (candidate < dist[i * n + j]) {
		dist[i * n + j] = candidate;
		via[i * n + j] = k;
	}
}

static int *random_graph(int n)
{
	int i, j;
	int *d = (int *)malloc(sizeof(int) * n * n);

	if (!d)
		exit(EXIT_FAILURE);
	for (i = 0; i < n; i++) {
		for (j = 0; j < n; j++) {
			if (i == j)
				d[i * n + j] = 0;
			else
				d[i * n + j] = rand() % 8 == 0 ? 1 + rand() % 100 : INF;
		}
	}
	return d;
}

static void floyd_warshall_host(int *d, int n)
{
	for (int k = 0; k < n; k++)
		for (int i = 0; i < n; i++)
			for (int j = 0; j < n; j++)
				if (d[i * n + k] + d[k * n + j] < d[i * n + j])
					d[i * n + j] = d[i * n + k] + d[k * n + j];
}

/* The length of the path that via describes; the inner vertices one after another. */
static int length(const int *weights, const int *via, int n, int i, int j)
{
	int k = via[i * n + j];
	return k < 0 ? weights[i * n + j] : length(weights, via, n, i, k) + length(weights, via, n, k, j);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 250;
	size_t size = sizeof(int) * n * n;
	int *weights = random_graph(n), *expected, *dist, *via, *d_dist = NULL, *d_via = NULL;
	int k, i, status = EXIT_FAILURE;
	dim3 threads(THREADS_X, THREADS_Y);
	dim3 blocks((n + THREADS_X - 1) / THREADS_X, (n + THREADS_Y - 1) / THREADS_Y);

	expected = (int *)malloc(size);
	dist = (int *)malloc(size);
	via = (int *)malloc(size);
	memcpy(expected, weights, size);
	TRY(cudaMalloc(&d_dist, size));
	TRY(cudaMalloc(&d_via, size));
	TRY(cudaMemcpy(d_dist, weights, size, cudaMemcpyHostToDevice));
	TRY(cudaMemset(d_via, 0xff, size));
	for (k = 0; k < n; k++)
		relax<<<blocks, threads>>>(d_dist, d_via, n, k);
	TRY(cudaGetLastError());
	TRY(cudaMemcpy(dist, d_dist, size, cudaMemcpyDeviceToHost));
	TRY(cudaMemcpy(via, d_via, size, cudaMemcpyDeviceToHost));

	floyd_warshall_host(expected, n);
	for (i = 0; i < n * n; i++) {
		if (dist[i] != expected[i] || (dist[i] < INF && length(weights, via, n, i / n, i % n) != dist[i])) {
			printf("%d -> %d: %d, not %d\n", i / n, i % n, dist[i], expected[i]);
			goto fail;
		}
	}
	printf("OK\n");
	status = EXIT_SUCCESS;
fail:
	cudaFree(d_dist);
	cudaFree(d_via);
	free(weights);
	free(expected);
	free(dist);
	free(via);
	return status;
}
