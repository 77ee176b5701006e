/* Streams and events. */
#include "cuda_internal.h"

gm_status gm_cuda_wait(gm_stream stream)
{
    TRY(gm_cuda_open());
    CHECK(cudaStreamSynchronize(stream));
    return GM_OK;
}

gm_status gm_cuda_wait_all(void)
{
    TRY(gm_cuda_open());
    CHECK(cudaDeviceSynchronize());
    return GM_OK;
}

gm_status gm_cuda_stream_create(gm_stream *stream)
{
    cudaStream_t made;
    TRY(gm_cuda_open());
    /* Not cudaStreamNonBlocking: the default stream orders allocations against it. */
    CHECK(cudaStreamCreateWithFlags(&made, cudaStreamDefault));
    *stream = made;
    return GM_OK;
}

/* Ignores errors, as release does: at exit the runtime may be gone already. */
void gm_cuda_stream_destroy(gm_stream stream)
{
    if (stream != NULL && gm_cuda_is_open()) {
        (void)gm_cuda_succeeded(cudaStreamDestroy(stream));
    }
}

/* The default streams and those made without cudaStreamNonBlocking wait for each other. */
gm_status gm_cuda_stream_is_nonblocking(gm_stream stream, bool *nonblocking)
{
    unsigned flags = 0;
    TRY(gm_cuda_open());
    *nonblocking = false;
    if (stream != NULL && stream != cudaStreamLegacy && stream != cudaStreamPerThread) {
        CHECK(cudaStreamGetFlags(stream, &flags));
        *nonblocking = (flags & cudaStreamNonBlocking) != 0;
    }
    return GM_OK;
}

static gm_status join_by_event(cudaStream_t later, cudaStream_t earlier)
{
    cudaEvent_t event;
    const char *call = "cudaEventRecord(event, earlier)";
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    /* On the default stream the event also waits for all streams that are not nonblocking. */
    cudaError_t error = cudaEventRecord(event, earlier);
    if (error == cudaSuccess) {
        call = "cudaStreamWaitEvent(later, event, 0)";
        error = cudaStreamWaitEvent(later, event, 0);
    }
    gm_status status = error == cudaSuccess ? GM_OK : gm_cuda_failure(error, call, NULL);
    (void)gm_cuda_succeeded(cudaEventDestroy(event)); /* takes effect after the event */
    return status;
}

gm_status gm_cuda_stream_join(gm_stream later, gm_stream earlier)
{
    bool nonblocking = true;
    later = later == cudaStreamLegacy ? NULL : later;
    earlier = earlier == cudaStreamLegacy ? NULL : earlier;
    TRY(gm_cuda_open());
    if (later == earlier) {
        return GM_OK;
    }
    if (later == NULL) { /* its next work waits by itself, unless earlier is nonblocking */
        TRY(gm_cuda_stream_is_nonblocking(earlier, &nonblocking));
    }
    return nonblocking ? join_by_event(later, earlier) : GM_OK;
}

gm_status gm_cuda_event_create(gm_event *event)
{
    cudaEvent_t made;
    TRY(gm_cuda_open());
    CHECK(cudaEventCreate(&made));
    *event = made;
    return GM_OK;
}

void gm_cuda_event_destroy(gm_event event)
{
    if (event != NULL && gm_cuda_is_open()) {
        (void)gm_cuda_succeeded(cudaEventDestroy(event));
    }
}

gm_status gm_cuda_event_record(gm_event event, gm_stream stream)
{
    TRY(gm_cuda_open());
    CHECK(cudaEventRecord(event, stream));
    return GM_OK;
}

gm_status gm_cuda_event_done(gm_event event, bool *done)
{
    TRY(gm_cuda_open());
    cudaError_t error = cudaEventQuery(event);
    *done = gm_cuda_succeeded(error);
    return *done || error == cudaErrorNotReady ? GM_OK
                                               : gm_cuda_failure(error, "cudaEventQuery", NULL);
}

gm_status gm_cuda_stream_follow(gm_stream stream, gm_event event)
{
    TRY(gm_cuda_open());
    CHECK(cudaStreamWaitEvent(stream, event, 0));
    return GM_OK;
}

gm_status gm_cuda_event_elapsed(gm_event from, gm_event to, float *milliseconds)
{
    TRY(gm_cuda_open());
    CHECK(cudaEventSynchronize(to));
    CHECK(cudaEventElapsedTime(milliseconds, from, to));
    return GM_OK;
}
