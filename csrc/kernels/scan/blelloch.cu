/*
 * scan / blelloch: up and down a tree, with two additions per element.
 *
 * Follows  hillis_steele, which adds eight times per element.
 * Idea     on the way up each node of a binary tree gets the sum of what is below it; on the way
 *          down it hands its left child what it was given, and its right child that plus the sum
 *          of the left one. At the leaves that is the sum of all elements before, in place.
 * Cost     in most steps few threads work, and their words are a power of two apart: up to 16 ways
 *          of bank conflicts.
 */
#include "scan.h"

enum { LENGTH = 2 * SCAN_THREADS };

template <typename number> GM_DEVICE void climb(number *sums)
{
    for (int distance = 1; distance < LENGTH; distance *= 2) {
        const int right = (threadIdx.x + 1) * 2 * distance - 1;
        if (right < LENGTH) {
            sums[right] += sums[right - distance];
        }
        __syncthreads();
    }
}

template <typename number> GM_DEVICE void descend(number *sums)
{
    if (threadIdx.x == 0) {
        sums[LENGTH - 1] = 0;
    }
    __syncthreads();
    for (int distance = LENGTH / 2; distance > 0; distance /= 2) {
        const int right = (threadIdx.x + 1) * 2 * distance - 1;
        if (right < LENGTH) {
            const number left = sums[right - distance];
            sums[right - distance] = sums[right];
            sums[right] += left;
        }
        __syncthreads();
    }
}

template <typename number, typename vector> GM_DEVICE void scan_pairs(const scan_args &a)
{
    __shared__ number sums[LENGTH];
    const int64_t first = (int64_t)blockIdx.x * LENGTH + threadIdx.x, second = first + SCAN_THREADS;
    const number *in = (const number *)a.in;
    const number x = first < a.count ? in[first] : (number)0;
    const number y = second < a.count ? in[second] : (number)0;

    sums[threadIdx.x] = x;
    sums[threadIdx.x + SCAN_THREADS] = y;
    __syncthreads();
    climb(sums);
    descend(sums);

    number *out = (number *)a.out;
    const number base = ((const number *)a.bases)[blockIdx.x];
    if (first < a.count) {
        out[first] = base + sums[threadIdx.x] + x;
    }
    if (second < a.count) {
        out[second] = base + sums[threadIdx.x + SCAN_THREADS] + y;
    }
}

GM_KERNEL(scan_blelloch, scan_args)
{
    SCAN_BY_TYPE(scan_pairs, a)
}
