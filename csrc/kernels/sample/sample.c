/* sample: the family. A texture is made on the stream of the call; calls take turns. */
#include "sample/sample.h"

#include "backend/backend.h"

static gm_status takes_points(const gm_variant *variant, const gm_call *call);
static gm_status takes_texture(const gm_variant *variant, const gm_call *call);
static gm_status launch_with_texture(const gm_variant *variant, const gm_call *call, gm_plan *plan);

#define GM_FAMILY sample
#define GM_LADDER "sample/ladder.def"
#include "family.h"

enum { IMAGE, XY };

static gm_status sample_result(gm_call *call)
{
    const gm_array *image = &call->in[IMAGE], *xy = &call->in[XY];
    gm_status status = gm_expect_dimensions(call, IMAGE, 2, "");
    if (status != GM_OK) {
        return status;
    }
    if (xy->ndim != 2 || xy->shape[1] != 2) {
        return gm_fail(GM_ERROR_VALUE, "xy has %d dimension%s%s, expected shape (n, 2)", xy->ndim,
                       GM_PLURAL(xy->ndim),
                       xy->ndim == 2 ? " and rows of another length than 2" : "");
    }
    if (image->size == 0 && xy->shape[0] > 0) {
        return gm_fail(GM_ERROR_VALUE, "image has shape (%lld, %lld): there is no pixel to sample",
                       (long long)image->shape[0], (long long)image->shape[1]);
    }
    call->out.ndim = 1;
    call->out.shape[0] = xy->shape[0];
    return GM_OK;
}

static gm_status takes_points(const gm_variant *variant, const gm_call *call)
{
    const gm_array *xy = &call->in[XY];
    bool apart = (uintptr_t)xy->data % 8 != 0 || (xy->shape[0] > 1 && xy->strides[0] != 8);
    return xy->size == 0 || !apart
               ? GM_OK
               : gm_fail(GM_ERROR_VALUE, "variant %s needs xy C-contiguous and aligned to 8 bytes",
                         variant->name);
}

static gm_status takes_texture(const gm_variant *variant, const gm_call *call)
{
    int64_t height = call->in[IMAGE].shape[0], width = call->in[IMAGE].shape[1];
    if (width > GM_TEXTURE_WIDTH || height > GM_TEXTURE_HEIGHT) {
        return gm_fail(GM_ERROR_VALUE,
                       "image has shape (%lld, %lld), a texture has up to (%d, %d) "
                       "(variant=\"global\" takes any)",
                       (long long)height, (long long)width, GM_TEXTURE_HEIGHT, GM_TEXTURE_WIDTH);
    }
    return takes_points(variant, call);
}

/* The texture unit is less accurate: it is only taken by name. */
static const gm_variant *sample_choose(const gm_call *call)
{
    return gm_row(call, sample_row_global);
}

static gm_status sample_plan(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    const gm_array *image = &call->in[IMAGE], *xy = &call->in[XY];
    sample_args *args = (sample_args *)plan->args;
    *args = (sample_args){
        .image = image->data,
        .points = xy->data,
        .out = (float *)call->out.data,
        .count = xy->shape[0],
        .width = image->shape[1],
        .height = image->shape[0],
        /* The stride of a single row means nothing. */
        .pitch = image->shape[0] > 1 ? image->strides[0] : image->shape[1] * image->itemsize,
    };
    plan->args_size = sizeof *args;
    if (args->count > 0) {
        plan->grid.x = gm_grid_blocks(variant, call, args->count, 0);
    }
    return GM_OK;
}

GM_SERIALIZER(texture_use);

static gm_status launch_with_texture(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    sample_args *args = (sample_args *)plan->args;
    gm_status status = gm_serializer_enter(&texture_use, call);
    if (status != GM_OK) {
        return status;
    }
    args->texture = (gm_texture){
        .data = args->image,
        .pitch = args->pitch,
        .width = (int)args->width,
        .height = (int)args->height,
    };
    status = call->backend->texture(&args->texture, call->stream);
    if (status == GM_OK) {
        status = call->backend->launch(variant, plan, call->stream);
    }
    return gm_serializer_leave(&texture_use, call, status);
}

static int sample_split(const gm_call *call, int input)
{
    (void)call;
    return input == XY ? 0 : GM_UNCUT;
}

/* A thread loads both coordinates at once. */
static bool suits_pairs(const gm_array *xy)
{
    return xy->contiguous && (uintptr_t)xy->data % (2 * sizeof(float)) == 0;
}

static const gm_operand inputs[] = {
#define FLOAT32 .kinds = "f", .itemsizes = 1 << 4, .dtypes = "float32"
    [IMAGE] = {.name = "image", FLOAT32, .reread = true, .suits = gm_is_packed},
    [XY] = {.name = "xy", FLOAT32, .suits = suits_pairs},
};

const gm_family gm_family_sample = {
    .name = "sample",
    .doc = "bilinear look-ups in an image, by the texture unit or by hand",
    .variants = variants,
    .count = variant_count,
    .inputs = inputs,
    .input_count = 2,
    .result = sample_result,
    .choose = sample_choose,
    .split = sample_split,
    .plan = sample_plan,
};
