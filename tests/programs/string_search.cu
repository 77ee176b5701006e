// Counts and finds a pattern in a text. The pattern is in constant memory.
#include <cassert>
#include <cctype>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>
#include <algorithm>

using namespace std;
using namespace std::literals;

constexpr size_t MAX_PATTERN = 64;
__constant__ char pattern[MAX_PATTERN];
__constant__ int pattern_length;
__device__ unsigned int matches;           // found so far
__device__ unsigned int letters[26];

static const char *const usage = R"(usage: string_search [PATTERN]
  "PATTERN" has at most 63 characters; {braces} and <<<brackets>>> are characters, too.
)";

__device__ bool matches_at(const char *text)
{
    for (int i = 0; i < pattern_length; ++i)
        if (text[i] != pattern[i]) return false;
    return true;
}

__global__ void find(const char *text, int length, int *positions, unsigned int capacity)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + pattern_length <= length && matches_at(text + i)) {
        const unsigned int at = atomicInc(&matches, 0xFFFFFFFF);
        if (at < capacity) positions[at] = i;
    }
}

__device__ inline int letter_of(char c)
{
    if (c >= 'a' && c <= 'z') return c - 'a';
    return c >= 'A' && c <= 'Z' ? c - 'A' : -1;
}

__global__ void count_letters(const char4 *text, int quads)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < quads; i += gridDim.x * blockDim.x) {
        const char4 four = text[i];
        for (char c : {four.x, four.y, four.z, four.w})
            if (int letter = letter_of(c); letter >= 0) atomicAdd(&letters[letter], 1);
    }
}

string lorem(size_t length)
{
    static const vector<string> words = {"lorem", "ipsum", "dolor", "sit", "amet,", "consectetur", "elit.", "\"et\"", "'al'"};
    string text;
    for (size_t state = 1; text.size() < length; state = state * 1103515245 + 12345)
        (text += words[(state >> 16) % words.size()]) += ' ';
    text.resize(length);
    return text;
}

auto ok = [](cudaError_t e) {
    if (e != cudaSuccess) cerr << "CUDA: " << cudaGetErrorString(e) << '\n';
    return e == cudaSuccess;
};

int main(int argc, char *argv[])
{
    const string_view wanted = argc > 1 ? argv[1] : "or "sv;
    if (wanted.empty() || wanted.size() >= MAX_PATTERN || argc > 2) {
        cerr << usage;
        return 2;
    }
    const string text = lorem(1'000'000);
    const int length = static_cast<int>(text.size()), n = static_cast<int>(wanted.size());
    const unsigned capacity = 200'000;
    char *d_text;
    int *d_positions;
    if (!ok(cudaMalloc(&d_text, length)) || !ok(cudaMalloc(&d_positions, capacity * sizeof(int)))) return 1;
    ok(cudaMemcpy(d_text, text.data(), length, cudaMemcpyHostToDevice));
    ok(cudaMemcpyToSymbol(pattern, wanted.data(), n));
    ok(cudaMemcpyToSymbol(pattern_length, &n, sizeof n));

    find<<<(length + 255) / 256, 256>>>(d_text, length, d_positions, capacity);
    count_letters<<<100, 256>>>(reinterpret_cast<const char4 *>(d_text), length / 4);
    unsigned found = 0, counts[26];
    if (!ok(cudaMemcpyFromSymbol(&found, matches, sizeof found)) || !ok(cudaMemcpyFromSymbol(counts, letters, sizeof counts)))
        return 1;
    vector<int> positions(min(found, capacity)), expected;
    ok(cudaMemcpy(positions.data(), d_positions, positions.size() * sizeof(int), cudaMemcpyDeviceToHost));
    sort(positions.begin(), positions.end());
    cudaFree(d_text);
    cudaFree(d_positions);

    for (auto at = text.find(wanted); at != string::npos; at = text.find(wanted, at + 1)) expected.push_back(int(at));
    cout << '"' << wanted << "\" was found " << found << " times\n";
    bool good = positions == expected;
    for (int i = 0; i < 26; ++i)
        good = good && counts[i] == count_if(text.begin(), text.end(), [i](unsigned char c) { return tolower(c) == 'a' + i; });
    cout << (good ? "OK" : "FAILED") << endl;
    return good ? 0 : 1;
}
