/* how many threads of the block have a positive number; plus 1000 if all have one, plus 2000 if
 * any */
#include "../probe.h"

GM_KERNEL(barrier_block_votes, probe_args)
{
    int64_t i = probe_index();
    bool positive = i < a.n && a.in[i] > 0;

    float votes = gm_sim_barrier_reduce(positive, GM_COUNT, __FILE__, __LINE__);
    votes += gm_sim_barrier_reduce(positive, GM_ALL, __FILE__, __LINE__) ? 1000 : 0;
    votes += gm_sim_barrier_reduce(positive, GM_ANY, __FILE__, __LINE__) ? 2000 : 0;
    if (i < a.n) {
        a.out[i] = votes;
    }
}
