/* Textures and surfaces by object. */
#ifndef GPUMEM_CUDA_TEXTURE_H
#define GPUMEM_CUDA_TEXTURE_H

#include "sim/cuda/texture_sampling.h"

typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;

enum cudaSurfaceBoundaryMode {
    cudaBoundaryModeZero,
    cudaBoundaryModeClamp,
    cudaBoundaryModeTrap,
};

/* ---- types of elements ------------------------------------------------------------------ */

/* A number, or a vector of numbers. */
template <typename type, typename = void> struct gm_channels {
    typedef type as;
};
template <typename type> struct gm_channels<type, decltype((void)type::x)> {
    typedef decltype(type::x) as;
};

/* The texel as the kernel's type. The kernel says whether it reads floats or integers; the texture
 * has to agree. */
template <typename type>
GM_STEP type gm_texel_as(const gm_texture_descriptor *texture, const gm_texel &texel,
                         const char *file, int line)
{
    typedef typename gm_channels<type>::as channel;
    enum { COUNT = sizeof(type) / sizeof(channel) };
    const bool real = (channel)0.5f != (channel)0;
    if (real != texel.is_real || (!real && (int)sizeof(channel) != texture->channel_bytes)) {
        gm_sim_fault(file, line,
                     "a fetch of another type than the texture has: check its channels, and "
                     "whether it is read as normalised float");
    }
    channel parts[COUNT];
    for (int c = 0; c < COUNT; c++) {
        parts[c] = real ? (channel)texel.real[c] : (channel)texel.whole[c];
    }
    type value{};
    __builtin_memcpy((void *)&value, parts, sizeof value);
    return value;
}

static __forceinline__ const gm_texture_descriptor *gm_texture_of(unsigned long long object,
                                                                  const char *file, int line)
{
    if (object == 0) {
        gm_sim_fault(file, line, "a texture or surface object that is 0");
    }
    return reinterpret_cast<const gm_texture_descriptor *>(object);
}

/* ---- fetches ---------------------------------------------------------------------------- */

/* A fetch as a function that returns the value, and as one that stores it through a pointer. */
#define GM_TEXTURE_FETCH(name, dimensions, coordinates, x, y, z, layer, ...)                       \
    template <typename type>                                                                       \
    static inline type name(cudaTextureObject_t object, __VA_ARGS__, GM_PLACE)                     \
    {                                                                                              \
        const gm_texture_descriptor *texture = gm_texture_of(object, file, line);                  \
        gm_texel texel = gm_texture_sample(texture, dimensions, x, y, z, layer);                   \
        return gm_texel_as<type>(texture, texel, file, line);                                      \
    }                                                                                              \
    template <typename type>                                                                       \
    static __forceinline__ void name(type *result, cudaTextureObject_t object, __VA_ARGS__,        \
                                     GM_PLACE)                                                     \
    {                                                                                              \
        *result = name<type>(object, GM_LIST coordinates, file, line);                             \
    }
#define GM_LIST(...) __VA_ARGS__

GM_TEXTURE_FETCH(tex1D, 1, (x), x, 0, 0, -1, float x)
GM_TEXTURE_FETCH(tex2D, 2, (x, y), x, y, 0, -1, float x, float y)
GM_TEXTURE_FETCH(tex3D, 3, (x, y, z), x, y, z, -1, float x, float y, float z)
GM_TEXTURE_FETCH(tex1DLayered, 1, (x, layer), x, 0, 0, layer, float x, int layer)
GM_TEXTURE_FETCH(tex2DLayered, 2, (x, y, layer), x, y, 0, layer, float x, float y, int layer)
/* Without mipmaps all levels are the first. */
GM_TEXTURE_FETCH(tex1DLod, 1, (x, level), x, 0, 0, -1, float x, [[maybe_unused]] float level)
GM_TEXTURE_FETCH(tex2DLod, 2, (x, y, level), x, y, 0, -1, float x, float y,
                 [[maybe_unused]] float level)
GM_TEXTURE_FETCH(tex3DLod, 3, (x, y, z, level), x, y, z, -1, float x, float y, float z,
                 [[maybe_unused]] float level)

GM_STEP bool gm_texture_has(const gm_texture_descriptor *texture, int x)
{
    return x >= 0 && x < texture->size[0];
}

/* By index and unfiltered; zero outside. */
template <typename type> static inline type tex1Dfetch(cudaTextureObject_t object, int x, GM_PLACE)
{
    const gm_texture_descriptor *texture = gm_texture_of(object, file, line);
    bool inside = gm_texture_has(texture, x);
    gm_texel texel = gm_texture_element(texture, inside ? x : 0, 0, 0);
    type value = gm_texel_as<type>(texture, texel, file, line);
    return inside ? value : type{};
}

template <typename type>
static __forceinline__ void tex1Dfetch(type *result, cudaTextureObject_t object, int x, GM_PLACE)
{
    *result = tex1Dfetch<type>(object, x, file, line);
}

#define GM_REFUSE_FETCH(name)                                                                      \
    template <typename type = void, typename... types>                                             \
    GM_REFUSED("the simulator has no " #name)                                                      \
    type name(types...);

GM_REFUSE_FETCH(tex2Dgather)
GM_REFUSE_FETCH(tex2DGrad)
GM_REFUSE_FETCH(texCubemap)
GM_REFUSE_FETCH(texCubemapLayered)
GM_REFUSE_FETCH(texCubemapLod)

/* ---- surfaces --------------------------------------------------------------------------- */

/* The address of an element, whose x counts bytes; NULL: outside, where reads give zero and writes
 * do nothing. */
template <typename type>
GM_STEP char *gm_surface_at(cudaSurfaceObject_t object, int64_t x, int64_t y, int64_t z,
                            cudaSurfaceBoundaryMode mode, const char *file, int line)
{
    const gm_texture_descriptor *surface = gm_texture_of(object, file, line);
    const int64_t at[3] = {x / (int64_t)sizeof(type), y, z};
    int64_t index[3];
    if ((int64_t)sizeof(type) != surface->channels * surface->channel_bytes ||
        x % (int64_t)sizeof(type) != 0) {
        gm_sim_fault(file, line,
                     "x of a surface counts bytes: a multiple of the size of its elements, which "
                     "is the size of the type");
    }
    for (int i = 0; i < 3; i++) {
        bool outside = at[i] < 0 || at[i] >= surface->size[i];
        if (outside && mode == cudaBoundaryModeTrap) {
            gm_sim_fault_of(GM_RULE_OUT_OF_BOUNDS, file, line, "an access outside of a surface");
        }
        if (outside && mode == cudaBoundaryModeZero) {
            return nullptr;
        }
        index[i] = gm_texture_index(at[i], surface->size[i], GM_TEXTURE_CLAMP);
    }
    return surface->data + index[2] * surface->slice + index[1] * surface->pitch +
           index[0] * (int64_t)sizeof(type);
}

template <typename type> GM_STEP type gm_surface_read(const char *from)
{
    type value{};
    if (from) {
        __builtin_memcpy((void *)&value, from, sizeof value);
    }
    return value;
}

template <typename type> GM_STEP void gm_surface_write(char *to, type value)
{
    if (to) {
        __builtin_memcpy(to, (const void *)&value, sizeof value);
    }
}

#define GM_BOUNDARY cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap

#define GM_SURFACE(name, coordinates, x, y, z, ...)                                                \
    template <typename type>                                                                       \
    static inline type name##read(cudaSurfaceObject_t object, __VA_ARGS__, GM_BOUNDARY, GM_PLACE)  \
    {                                                                                              \
        return gm_surface_read<type>(gm_surface_at<type>(object, x, y, z, mode, file, line));      \
    }                                                                                              \
    template <typename type>                                                                       \
    static __forceinline__ void name##read(type *result, cudaSurfaceObject_t object, __VA_ARGS__,  \
                                           GM_BOUNDARY, GM_PLACE)                                  \
    {                                                                                              \
        *result = name##read<type>(object, GM_LIST coordinates, mode, file, line);                 \
    }                                                                                              \
    template <typename type>                                                                       \
    static inline void name##write(type value, cudaSurfaceObject_t object, __VA_ARGS__,            \
                                   GM_BOUNDARY, GM_PLACE)                                          \
    {                                                                                              \
        gm_surface_write(gm_surface_at<type>(object, x, y, z, mode, file, line), value);           \
    }

GM_SURFACE(surf1D, (x), x, 0, 0, int x)
GM_SURFACE(surf2D, (x, y), x, y, 0, int x, int y)
GM_SURFACE(surf3D, (x, y, z), x, y, z, int x, int y, int z)
GM_SURFACE(surf1DLayered, (x, layer), x, 0, layer, int x, int layer)
GM_SURFACE(surf2DLayered, (x, y, layer), x, y, layer, int x, int y, int layer)

GM_REFUSE_FETCH(surfCubemapread)
GM_REFUSE_FETCH(surfCubemapwrite)

#endif
