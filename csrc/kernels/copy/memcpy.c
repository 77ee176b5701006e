/* copy / memcpy: the driver's own copy (cudaMemcpyAsync; memcpy on the simulator). */
#include "backend/backend.h"
#include "copy/launches.h"

gm_status copy_memcpy_launch(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    (void)variant;
    (void)plan;
    return call->backend->copy(call->out.data, call->in[0].data, call->in[0].bytes, GM_WITHIN,
                               call->stream);
}
