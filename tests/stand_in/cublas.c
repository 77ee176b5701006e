/* A stand-in for cuBLAS whose calls do nothing, and end with the status that a test sets. */
#include <stddef.h>

static int create_status, call_status;

void stand_in_statuses(int create, int call)
{
    create_status = create;
    call_status = call;
}

int cublasCreate_v2(void **handle)
{
    *handle = &call_status;
    return create_status;
}

int cublasSetStream_v2(void *handle, void *stream)
{
    (void)handle, (void)stream;
    return 0;
}

const char *cublasGetStatusName(int status)
{
    return status == 3 ? "CUBLAS_STATUS_ALLOC_FAILED" : "CUBLAS_STATUS_ANOTHER";
}

int cublasSgeam_64(void)
{
    return call_status;
}

int cublasDgeam_64(void)
{
    return call_status;
}

int cublasSgemm_v2_64(void)
{
    return call_status;
}
