// Time: clocks that go on, and sleep.
__global__ void ticks(int *out)
{
    clock_t begin = clock();
    long long wide = clock64();
    __nanosleep(100);
    long long after = clock64();
    clock_t end = clock();
    out[threadIdx.x] = (after >= wide) + 2 * (end != begin || after > wide);
}

__global__ void waits_for_a_flag(volatile int *flag, int *out)
{
    if (blockIdx.x == 0) {
        unsigned pause = 8;
        while (*flag == 0) {
            __nanosleep(pause);
            pause = pause < 256 ? pause * 2 : pause;
        }
        __threadfence();
        out[threadIdx.x] = *flag + threadIdx.x;
    } else if (threadIdx.x == 0) {
        __threadfence();
        *flag = 41;
    }
}
