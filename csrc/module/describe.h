/*
 * What a compiler knows of a type, as a gm_module_parameter: for the simulator's modules, and for
 * device code, where gpumem/cuda_c/described.py puts this text behind a user's source. So it
 * includes nothing, and whoever uses it has declared gm_module_parameter.
 */
#ifndef GPUMEM_MODULE_DESCRIBE_H
#define GPUMEM_MODULE_DESCRIBE_H

template <typename type> struct gm_same_as_bool {
    static constexpr bool value = false;
};
template <> struct gm_same_as_bool<bool> {
    static constexpr bool value = true;
};

template <typename type> constexpr char gm_kind_of()
{
    if constexpr (gm_same_as_bool<type>::value) {
        return 'b';
    } else if constexpr (__is_class(type) || __is_union(type)) {
        return 'V';
    } else if constexpr (__is_enum(type)) {
        return 'i';
    } else {
        return type(0.5f) != type(0) ? 'f' : type(-1) < type(0) ? 'i' : 'u';
    }
}

template <typename type> struct gm_describe {
    static constexpr gm_module_parameter parameter = {gm_kind_of<type>(), 0, 0, sizeof(type)};
};
template <typename type> struct gm_describe<const type> : gm_describe<type> {
};
template <typename type> struct gm_describe<volatile type> : gm_describe<type> {
};
template <typename type> struct gm_describe<const volatile type> : gm_describe<type> {
};
/* What a pointer to an array points to, such as float a[][4]: the elements. */
template <typename type, unsigned long count> struct gm_describe<type[count]> : gm_describe<type> {
};
template <typename type, unsigned long count>
struct gm_describe<const type[count]> : gm_describe<type> {
};
template <typename type, unsigned long count>
struct gm_describe<volatile type[count]> : gm_describe<type> {
};
template <typename type, unsigned long count>
struct gm_describe<const volatile type[count]> : gm_describe<type> {
};
template <> struct gm_describe<void> {
    static constexpr gm_module_parameter parameter = {'?', 0, 0, 0};
};
/* Pointers and functions: addresses, as numbers. */
template <typename type> struct gm_describe<type **> {
    static constexpr gm_module_parameter parameter = {'u', 1, 0, 8};
};
template <typename type> struct gm_describe<type *const *> {
    static constexpr gm_module_parameter parameter = {'u', 1, 1, 8};
};
template <typename type> struct gm_describe<type *__restrict__ *> : gm_describe<type **> {
};
template <typename type>
struct gm_describe<type *const __restrict__ *> : gm_describe<type *const *> {
};
template <typename to, typename... from> struct gm_describe<to (*)(from...)> {
    static constexpr gm_module_parameter parameter = {'u', 0, 0, 8};
};

template <typename type> struct gm_is_const {
    static constexpr char value = 0;
};
template <typename type> struct gm_is_const<const type> {
    static constexpr char value = 1;
};

template <typename type> struct gm_describe<type *> {
    static constexpr gm_module_parameter to = gm_describe<type>::parameter;
    static constexpr gm_module_parameter parameter = {to.kind, 1, gm_is_const<type>::value,
                                                      to.bytes};
};

#endif
