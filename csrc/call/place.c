/* Places: in place, or by a transfer. */
#include "call/place.h"

/* Where a named variant wants all arrays. Under observation all arrays are copies. */
static gm_place place_wanted(const gm_call *call)
{
    return call->trace || !call->variant ? GM_ANYWHERE : call->variant->place;
}

bool gm_is_used_in_place(const gm_call *call, const gm_operand *operand, const gm_array *array)
{
    if (call->trace) {
        return false;
    }
    if (place_wanted(call) != GM_ANYWHERE) {
        return true; /* if it is in other memory, planning fails and says so */
    }
    bool reread = operand && operand->reread;
    return (array->memory == GM_MANAGED || (array->memory == GM_MAPPED && !reread)) &&
           array->contiguous && (uintptr_t)array->data % 16 == 0;
}

gm_memory_kind gm_kind_of_result(const gm_call *call, bool first_input_in_place)
{
    gm_place place = place_wanted(call);
    if (place != GM_ANYWHERE) {
        return place == GM_IN_HOST ? GM_MAPPED : GM_MANAGED;
    }
    gm_memory_kind kind = first_input_in_place ? call->in[0].memory : GM_PAGEABLE;
    return kind == GM_MAPPED || kind == GM_MANAGED ? kind : GM_PAGEABLE;
}
