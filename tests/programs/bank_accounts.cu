// Transfers between accounts of a bank, many at once: with atomic additions, and with a lock on
// each account.
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>
#include "cuda_runtime.h"

struct Account {
    int lock;              // 0: free
    unsigned transfers;
    long long cents;
};

struct Transfer {
    int from, to;
    int cents;
};

class Lock {
public:
    __device__ explicit Lock(int *mutex) : mutex_(mutex)
    {
        while (atomicCAS(mutex_, 0, 1) != 0) {
        }
        __threadfence();
    }
    __device__ ~Lock()
    {
        __threadfence();
        atomicExch(mutex_, 0);
    }
    Lock(const Lock &) = delete;

private:
    int *mutex_;
};

// Two's complement: adding the negative as an unsigned number subtracts.
__global__ void transfer_atomically(unsigned long long *cents, const Transfer *transfers, int n)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i >= n) return;
    Transfer t = transfers[i];
    atomicAdd(&cents[t.from], (unsigned long long)-(long long)t.cents);
    atomicAdd(&cents[t.to], (unsigned long long)t.cents);
}

__device__ void book(Account &account, long long cents)
{
    Lock lock(&account.lock);
    account.cents += cents;
    account.transfers++;
}

// Both accounts at once, the lower number first: no two threads wait for each other.
__device__ void book_both(Account *accounts, const Transfer &t)
{
    Lock first(&accounts[min(t.from, t.to)].lock);
    Lock second(&accounts[max(t.from, t.to)].lock);
    accounts[t.from].cents -= t.cents;
    accounts[t.to].cents += t.cents;
    accounts[t.from].transfers++;
    accounts[t.to].transfers++;
}

__global__ void transfer_locked(Account *accounts, const Transfer *transfers, int n, bool both)
{
    const int stride = gridDim.x * blockDim.x;
    for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += stride) {
        Transfer t = transfers[i];
        if (both) {
            book_both(accounts, t);
        } else {
            book(accounts[t.from], -t.cents);
            book(accounts[t.to], t.cents);
        }
    }
}

#define CUDA(call) cuda(call, #call)
static void cuda(cudaError_t status, const char *call)
{
    if (status) {
        std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(status));
        std::exit(1);
    }
}

// A stream of its own for each way of doing it.
struct Branch {
    cudaStream_t stream;
    Branch() { CUDA(cudaStreamCreate(&stream)); }
    ~Branch() { cudaStreamDestroy(stream); }
} branches[3];

int main()
{
    const int accounts = 100, n = 20000;
    std::vector<long long> expected(accounts, 100000);
    std::vector<unsigned> booked(accounts);
    std::vector<Transfer> transfers(n);
    unsigned random = 1;
    for (Transfer &t : transfers) {
        random = random * 69069u + 5u;
        t.from = random / 7u % accounts;
        t.to = (t.from + 1 + random / 1009u % (accounts - 1)) % accounts;
        t.cents = random % 5000u;
        expected[t.from] -= t.cents;
        expected[t.to] += t.cents;
        ++booked[t.from], ++booked[t.to];
    }
    std::vector<unsigned long long> plain(accounts, 100000);
    std::vector<Account> locked[2];
    for (auto &one : locked) one.assign(accounts, Account{0, 0, 100000});

    Transfer *d_transfers;
    unsigned long long *d_plain;
    Account *d_locked[2];
    CUDA(cudaMalloc(&d_transfers, n * sizeof(Transfer)));
    CUDA(cudaMalloc(&d_plain, accounts * sizeof(*d_plain)));
    CUDA(cudaMemcpy(d_transfers, transfers.data(), n * sizeof(Transfer), cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(d_plain, plain.data(), accounts * sizeof(*d_plain), cudaMemcpyHostToDevice));
    transfer_atomically<<<(n + 255) / 256, 256, 0, branches[2].stream>>>(d_plain, d_transfers, n);
    for (int both = 0; both < 2; ++both) {
        CUDA(cudaMalloc(&d_locked[both], accounts * sizeof(Account)));
        CUDA(cudaMemcpy(d_locked[both], locked[both].data(), accounts * sizeof(Account), cudaMemcpyHostToDevice));
        transfer_locked<<<20, 64, 0, branches[both].stream>>>(d_locked[both], d_transfers, n, both != 0);
    }
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaMemcpy(plain.data(), d_plain, accounts * sizeof(*d_plain), cudaMemcpyDeviceToHost));
    bool good = true;
    for (int both = 0; both < 2; ++both) {
        CUDA(cudaMemcpy(locked[both].data(), d_locked[both], accounts * sizeof(Account), cudaMemcpyDeviceToHost));
        for (int a = 0; a < accounts; ++a)
            good = good && locked[both][a].cents == expected[a] && locked[both][a].transfers == booked[a];
        CUDA(cudaFree(d_locked[both]));
    }
    for (int a = 0; a < accounts; ++a) good = good && (long long)plain[a] == expected[a];
    CUDA(cudaFree(d_transfers));
    CUDA(cudaFree(d_plain));
    std::printf("total %.2f\n%s\n", std::accumulate(expected.begin(), expected.end(), 0LL) / 100.0, good ? "OK" : "FAILED");
    return good ? 0 : 1;
}
