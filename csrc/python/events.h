/* The timing events behind gpumem.bench. */
#ifndef GPUMEM_PYTHON_EVENTS_H
#define GPUMEM_PYTHON_EVENTS_H

#include "python/python.h"

extern PyTypeObject gm_event_type;

#endif
