/* Which observers see which accesses. */
#include "sim/observer.h"

void gm_trace_forget_access_subscribers(gm_trace *trace)
{
    for (int space = 0; space < GM_SPACES; space++) {
        trace->on_usual[space].count = 0;
        for (int actor = 0; actor < GM_ACTORS; actor++) {
            trace->on_access[space][actor].count = 0;
        }
    }
}

void gm_trace_list_access_subscribers(gm_trace *trace)
{
    gm_trace_forget_access_subscribers(trace);
    trace->may_postpone = trace->may_batch = true;
    for (int i = 0; i < trace->all.count * GM_SPACES; i++) {
        const gm_subscriber *subscriber = &trace->all.list[i / GM_SPACES];
        const gm_observer *observer = subscriber->observer;
        int space = i % GM_SPACES;
        if (!(observer->accesses & GM_SEES(space)) ||
            (observer->after && !(observer->after & trace->actors))) {
            continue;
        }
        for (int actor = 0; actor < GM_ACTORS; actor++) {
            if (!observer->actors || observer->actors & GM_SEES(actor)) {
                gm_subscribers_add(&trace->on_access[space][actor], *subscriber);
            }
        }
        if (!observer->unusual && (!observer->actors || observer->actors & GM_SEES(GM_BY_THREAD))) {
            gm_subscribers_add(&trace->on_usual[space], *subscriber);
            trace->may_postpone &= space != GM_SPACE_SHARED || observer->clean;
            trace->may_batch &= space != GM_SPACE_GLOBAL || observer->take;
        }
    }
}

void gm_trace_list_loud(gm_trace *trace)
{
    const gm_postponed *p = &trace->current->postponed;
    unsigned quiet = p->on ? GM_SEES(GM_SPACE_SHARED) : 0;
    quiet |= p->batched ? GM_SEES(GM_SPACE_GLOBAL) : 0;
    trace->loud = ((1u << GM_SPACES) - 1) & ~quiet;
}
