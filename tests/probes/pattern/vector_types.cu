/* every width of vector: loaded whole, taken apart, put together and stored whole */
#include "../probe.h"

GM_KERNEL(pattern_vector_types, probe_args)
{
    int64_t i = 4 * probe_index();
    if (i + 4 > a.n) {
        return;
    }
    uchar4 bytes = ((const uchar4 *)a.in)[i];
    ((uchar4 *)a.out)[i] = make_uchar4(bytes.x, bytes.y, bytes.z, bytes.w);
    ushort2 halves = ((const ushort2 *)a.in)[i + 1];
    ((ushort2 *)a.out)[i + 1] = make_ushort2(halves.x, halves.y);
    double2 whole = __ldg((const double2 *)(a.in + i));
    int2 pair = __ldcg((const int2 *)(a.in + i) + 1);
    __stcg((int2 *)(a.out + i) + 1, make_int2(pair.x, pair.y));
    if (max(a.offset, a.stride) == 7) {
        ((double2 *)(a.out))[i / 4] = make_double2(whole.x, whole.y);
    }
}
