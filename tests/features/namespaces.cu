// Kernels and functions in namespaces.
namespace image {

namespace detail {
__device__ int clamped(int v)
{
    return v < 0 ? 0 : v > 255 ? 255 : v;
}
} // namespace detail

__global__ void brighten(const int *in, int *out, int by)
{
    out[threadIdx.x] = detail::clamped(in[threadIdx.x] + by);
}

} // namespace image

namespace {
__device__ int twice(int v)
{
    return 2 * v;
}
} // namespace

namespace first::second {
using ::twice;
enum class Mode { keep, change };
__global__ void choose(const int *in, int *out)
{
    Mode mode = threadIdx.x % 3 ? Mode::change : Mode::keep;
    out[threadIdx.x] = mode == Mode::change ? twice(in[threadIdx.x]) : in[threadIdx.x];
}
} // namespace first::second

extern "C" __global__ void plain_name(int *out)
{
    out[threadIdx.x] = twice(threadIdx.x);
}
