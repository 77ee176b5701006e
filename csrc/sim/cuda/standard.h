/* cuda::std: the host's standard library under another name, beside what atomic_objects.h defines
 * itself. */
#ifndef GPUMEM_CUDA_STANDARD_H
#define GPUMEM_CUDA_STANDARD_H

#include <utility>

namespace cuda {
namespace std {
using namespace ::std;
}
} // namespace cuda

#endif
