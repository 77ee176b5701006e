/*
 * From errors of the CUDA runtime to the error record.
 */
#include <stdio.h>
#include <string.h>

#include "cuda_internal.h"

bool gm_cuda_succeeded(cudaError_t error)
{
    if (error != cudaSuccess) {
        cudaGetLastError();
    }
    return error == cudaSuccess;
}

gm_status gm_cuda_annotate(gm_status status, cudaError_t error, bool sticky, const char *call)
{
    gm_error *record = gm_error_record();
    if (!record) {
        return status;
    }
    record->code = (int)error;
    record->sticky = sticky;
    snprintf(record->name, sizeof record->name, "%s", cudaGetErrorName(error));
    if (snprintf(record->call, sizeof record->call, "%s", call) >= (int)sizeof record->call) {
        memcpy(record->call + sizeof record->call - 4, "...", 4);
    }
    return status;
}

/*
 * Clears the error and says whether it stays. After an illegal address, a failed assertion
 * or the like every call returns that error again, a query of the default stream too. Errors
 * that only a stream capture in progress makes do not count, nor does memory that the query itself
 * does not find: that of the context, where there is none yet.
 */
static bool is_sticky(void)
{
    cudaGetLastError();
    cudaError_t probe = cudaStreamQuery(cudaStreamLegacy);
    cudaGetLastError();
    bool capture =
        probe >= cudaErrorStreamCaptureUnsupported && probe <= cudaErrorStreamCaptureWrongThread;
    return probe != cudaSuccess && probe != cudaErrorNotReady &&
           probe != cudaErrorCudartUnloading && probe != cudaErrorMemoryAllocation && !capture;
}

gm_status gm_cuda_failure(cudaError_t error, const char *call, const char *context)
{
    bool sticky = is_sticky();
    const char *advice = "";
    if (sticky) {
        advice = " It was caused by this or by earlier work on the GPU and cannot be cleared:"
                 " the process must be restarted to use the GPU again.";
    } else if (error == cudaErrorNoKernelImageForDevice) {
        advice = " gpumem was built without code for this device; GPUMEM_CUDA_ARCHS chooses"
                 " the devices to build for.";
    }
    gm_status status = error == cudaErrorMemoryAllocation ? GM_ERROR_MEMORY : GM_ERROR_CUDA;
    int length = context != NULL ? (int)strlen(context) : (int)strcspn(call, "(");
    gm_fail(status, "%.*s failed: %s (%s).%s", length, context != NULL ? context : call,
            cudaGetErrorString(error), cudaGetErrorName(error), advice);
    return gm_cuda_annotate(status, error, sticky, call);
}
