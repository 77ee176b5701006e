/* Which variants a CUDA device can run, by its compute capability and the targets compiled for. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_internal.h"

/* Some instructions exist in one compute capability only, and only in code compiled for it. */
static gm_status has_arch(const gm_variant *variant, const gm_device_properties *device)
{
    size_t length = strlen(variant->arch);
    if (device->capability != variant->capability) {
        return gm_fail(GM_ERROR_UNAVAILABLE,
                       "%s needs compute capability %d.%d and no other, this device (%s) has %d.%d",
                       variant->symbol, variant->capability / 10, variant->capability % 10,
                       device->name, device->capability / 10, device->capability % 10);
    }
    for (const char *at = gm_build_archs; at && *at; at += strcspn(at, ","), at += *at == ',') {
        if (strncmp(at, variant->arch, length) == 0 && (at[length] == ',' || at[length] == '\0')) {
            return GM_OK;
        }
    }
    return gm_fail(GM_ERROR_UNAVAILABLE, "%s was not compiled for %s (GPUMEM_CUDA_ARCHS was %s)",
                   variant->symbol, variant->arch, gm_build_archs ? gm_build_archs : "empty");
}

bool gm_cuda_compiled_for(int capability, const gm_device_properties *device)
{
    for (const char *at = gm_build_archs; at && *at; at += strcspn(at, ","), at += *at == ',') {
        char *end;
        long target = strtol(at, &end, 10);
        bool exact = *end != ',' && *end != '\0'; /* 90a runs on 9.0 only */
        if (target >= capability &&
            (exact ? target == device->capability : target <= device->capability)) {
            return true;
        }
    }
    return false;
}

static gm_status has_target(const gm_variant *variant, const gm_device_properties *device)
{
    if (gm_cuda_compiled_for(variant->capability, device)) {
        return GM_OK;
    }
    return gm_fail(GM_ERROR_UNAVAILABLE,
                   "%s was not compiled for this device (%s, compute capability %d.%d): "
                   "GPUMEM_CUDA_ARCHS was %s",
                   variant->symbol, device->name, device->capability / 10, device->capability % 10,
                   gm_build_archs ? gm_build_archs : "empty");
}

bool gm_cuda_has_machine_code(const gm_device_properties *device)
{
    bool found = gm_build_archs == NULL;
    for (const char *at = gm_build_archs; at && *at; at += strcspn(at, ","), at += *at == ',') {
        char *end;
        long target = strtol(at, &end, 10);
        bool exact = isalpha((unsigned char)*end);
        found = found || (target / 10 == device->capability / 10 &&
                          (exact ? target == device->capability : target <= device->capability));
    }
    return found;
}

gm_status gm_cuda_supports(const gm_variant *variant, const gm_device_properties *device)
{
    if (variant->capability > device->capability) {
        return gm_fail(GM_ERROR_UNAVAILABLE,
                       "%s needs compute capability %d.%d, this device (%s) has %d.%d",
                       variant->symbol, variant->capability / 10, variant->capability % 10,
                       device->name, device->capability / 10, device->capability % 10);
    }
    if (variant->capability == 0) {
        return GM_OK;
    }
    return variant->arch ? has_arch(variant, device) : has_target(variant, device);
}
