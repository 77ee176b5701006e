/*
 * What the access families share: elements moved one by one, as so many bits.
 *
 * A family says where element k is loaded from and stored to; its variants differ in the path
 * of the loads through the caches, and in how many of them are in flight per thread.
 */
#ifndef GPUMEM_ACCESS_H
#define GPUMEM_ACCESS_H

#include "device.h"

enum { ACCESS_CACHED, ACCESS_UNCACHED, ACCESS_READONLY };

/* LDG with .ca, which may stay in the L1; .cg, in the L2 alone; .nc, through the read-only path.
 * __ldca keeps its place among the other loads, which a plain load does not: where several are
 * meant to be in flight that was worth 5 %. */
template <int path, typename unit> GM_DEVICE unit access_load(const unit *address)
{
    switch (path) {
    case ACCESS_UNCACHED: return __ldcg(address);
    case ACCESS_READONLY: return __ldg(address);
    default: return __ldca(address);
    }
}

/* The body of a kernel whose template `move` is for units of one size. */
#define ACCESS_EACH_SIZE(move, path, unroll)                                                       \
    switch (a.itemsize) {                                                                          \
    case 1: move<path, unroll, unsigned char>(a); break;                                           \
    case 2: move<path, unroll, unsigned short>(a); break;                                          \
    case 4: move<path, unroll, unsigned>(a); break;                                                \
    case 8: move<path, unroll, uint2>(a); break;                                                   \
    case 16: move<path, unroll, uint4>(a); break;                                                  \
    }

/*
 * Which elements a thread moves: `unroll` at a time, a block's width apart, so that the lanes of a
 * warp stay neighbours. gm_grid_stride() threads take as many steps as there is work for.
 */
GM_DEVICE int64_t access_first(int unroll)
{
    return (int64_t)blockIdx.x * blockDim.x * unroll + threadIdx.x;
}

/* ---- elements of any size -------------------------------------------------------------------- */

template <typename unit> GM_DEVICE void access_move_unit(char *to, const char *from, int64_t at)
{
    ((unit *)to)[at] = ((const unit *)from)[at];
}

/* Piece `at` of an element, in pieces of `width` bytes. */
GM_DEVICE void access_move_piece(char *to, const char *from, int64_t at, int width)
{
    switch (width) {
    case 1: access_move_unit<unsigned char>(to, from, at); break;
    case 2: access_move_unit<unsigned short>(to, from, at); break;
    case 4: access_move_unit<unsigned>(to, from, at); break;
    case 8: access_move_unit<uint2>(to, from, at); break;
    case 16: access_move_unit<uint4>(to, from, at); break;
    }
}

#endif
