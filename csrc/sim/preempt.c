/* The timer that interrupts kernels, and what its handler does. */
#define _GNU_SOURCE
#include "sim/preempt.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "fork_lock.h"
#include "sim/block.h"
#include "sim/machine.h"
#include "sim/thread.h"

/* glibc has no name for it. */
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum {
    USUAL = 10 * 1000 * 1000, /* nanoseconds */
    OFTEN = 300 * 1000,
};

static struct sigaction previous;
static char mark; /* its address tells our timers from others */
GM_FORK_LOCK(installing);

static void on_timer(int signal, siginfo_t *info, void *context)
{
    int error = errno;
    if (info->si_code == SI_TIMER && info->si_value.sival_ptr == &mark) {
        gm_block *block = gm_faults_block();
        gm_machine machine = gm_machine_read(context);
        if (block && gm_thread_may_stop(block, machine.pc)) {
            gm_preempt_often(block->preempt, !block->trace);
            gm_thread_interrupt(block, gm_machine_hash(context), machine.pc, machine.sp);
        }
    } else if (previous.sa_flags & SA_SIGINFO) {
        previous.sa_sigaction(signal, info, context);
    } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
        previous.sa_handler(signal);
    }
    errno = error;
}

/* SA_NODEFER: the handler switches to another thread, which can be interrupted too. Not SA_ONSTACK:
 * what is interrupted stays on the thread's own stack. */
static void install(void)
{
    struct sigaction action = {.sa_sigaction = on_timer,
                               .sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART};
    struct sigaction now;
    sigemptyset(&action.sa_mask);
    pthread_mutex_lock(&installing);
    if (sigaction(SIGURG, NULL, &now) == 0 && now.sa_sigaction != on_timer) {
        previous = now;
        sigaction(SIGURG, &action, NULL);
    }
    pthread_mutex_unlock(&installing);
}

static void set(gm_preempt *preempt, long nanoseconds)
{
    const struct timespec period = {0, nanoseconds};
    timer_settime(preempt->timer, 0, &(struct itimerspec){period, period}, NULL);
}

void gm_preempt_begin(gm_preempt *preempt, const gm_block *block)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGURG};
    event.sigev_value.sival_ptr = &mark;
    event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
    preempt->made = preempt->fast = false;
    /* The simulator's own code must not be interrupted: it is in one image with gpumem's kernels,
     * which do not spin. */
    if (gm_region_holds(block->grid->module->image, (uintptr_t)&mark)) {
        return;
    }
    install();
    if (timer_create(CLOCK_MONOTONIC, &event, &preempt->timer) == 0) {
        preempt->made = true;
        set(preempt, USUAL);
    }
}

void gm_preempt_end(gm_preempt *preempt)
{
    if (preempt->made) {
        timer_delete(preempt->timer);
        preempt->made = false;
    }
}

void gm_preempt_often(gm_preempt *preempt, bool often)
{
    if (preempt->made && preempt->fast != often) {
        preempt->fast = often;
        set(preempt, often ? OFTEN : USUAL);
    }
}
