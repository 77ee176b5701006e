/* The list of observers, made from observers.def. */
#include "sim/observer.h"

#define OBSERVER(name) extern const gm_observer gm_observer_##name;
#include "sim/observers.def"
#undef OBSERVER

const gm_observer *const gm_observers[GM_OBSERVERS] = {
#define OBSERVER(name) &gm_observer_##name,
#include "sim/observers.def"
#undef OBSERVER
};
