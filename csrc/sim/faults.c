/* Signals in kernels: what they mean, and the way out of the kernel. */
#define _GNU_SOURCE
#include "sim/faults.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "fork_lock.h"
#include "sim/block.h"
#include "sim/machine.h"

enum {
    HANDLER_STACK = 64 * 1024, /* touched only when a handler runs */
    NULL_PAGE = 64 * 1024,     /* addresses of members and elements of what is not there */
};

static const int watched[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
enum { WATCHED = sizeof watched / sizeof *watched };

static struct sigaction previous[WATCHED];
static bool passed_on[WATCHED];
static atomic_bool installed; /* as far as we know: others install theirs, too */
GM_FORK_LOCK(installing);

/* What a host thread has. Not thread-local: a handler could be the first to ask for it, and memory
 * for thread-local variables is allocated then. */
typedef struct host {
    gm_block *block;
    char *stack; /* for the handlers; NULL: the thread had one already */
} host;

static pthread_key_t key;

static void host_free(void *value)
{
    host *h = value;
    if (h->stack) {
        sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL);
        free(h->stack);
    }
    free(h);
}

static __attribute__((constructor)) void make_key(void)
{
    pthread_key_create(&key, host_free);
}

gm_block *gm_faults_block(void)
{
    const host *h = pthread_getspecific(key);
    return h ? h->block : NULL;
}

/* ---- handlers ----------------------------------------------------------------------------- */

/* The handler that was there before takes the signal. A signal that somebody sent is handed to it;
 * a fault repeats itself once that handler is back in place. */
static void pass_on(int signal, siginfo_t *info, void *context)
{
    int i = 0;
    while (watched[i] != signal) {
        i++;
    }
    const struct sigaction *before = &previous[i], fatal = {.sa_handler = SIG_DFL};
    bool sent = info->si_code <= 0 && !passed_on[i], calls = before->sa_handler != SIG_DFL;
    if (sent && calls && before->sa_handler != SIG_IGN) {
        passed_on[i] = true;
        if (before->sa_flags & SA_SIGINFO) {
            before->sa_sigaction(signal, info, context);
        } else {
            before->sa_handler(signal);
        }
        passed_on[i] = false;
        return;
    }
    if (sent && calls) {
        return;
    }
    /* One that passes it on to us in its turn is not called again. */
    sigaction(signal, passed_on[i] ? &fatal : before, NULL);
    passed_on[i] = true;
    atomic_store(&installed, false);
    if (info->si_code <= 0) {
        raise(signal);
    }
}

/* Was there no room on the stack for the frame of another signal, such as the timer's? Linux drops
 * that signal and sends SIGSEGV. The code goes on; a fault of its own comes again at once, with all
 * registers as they are. */
static bool had_no_room(gm_block *block, const siginfo_t *info, const void *context)
{
    enum { FRAME = 16 * 1024 }; /* more than any processor's */
    const uintptr_t end = (uintptr_t)block->running_fiber->stack + FRAME;
    if (info->si_signo != SIGSEGV || info->si_code != SI_KERNEL ||
        gm_machine_read(context).sp >= end) {
        return false;
    }
    const uint64_t before = block->roomless;
    block->roomless = gm_machine_hash(context);
    return block->roomless != before;
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
    gm_block *block = gm_faults_block();
    gm_machine machine = gm_machine_read(context);
    gm_region stacks;
    if (!block || !gm_fiber_owns(&block->fibers, machine.sp, &stacks)) {
        pass_on(signal, info, context);
        return;
    }
    if (had_no_room(block, info, context)) {
        return;
    }
    block->fault = (gm_fault){
        .signal = signal,
        .code = info->si_code,
        .address = (uintptr_t)info->si_addr,
        .pc = machine.pc,
        .sp = machine.sp,
        /* A call to an address without code has left where it comes from. */
        .caller = signal == SIGSEGV && machine.pc == (uintptr_t)info->si_addr
                      ? gm_machine_caller(context)
                      : 0,
    };
    block->failed = true;
    /* Back to the scheduler. The stack of the thread is not needed any more: whatever the switch
     * saves there is never read. */
    gm_fiber *fiber = block->running_fiber;
    gm_machine_call(context, (uintptr_t)(fiber->stack + fiber->stack_bytes / 2),
                    (uintptr_t)gm_fiber_switch, (uintptr_t)&fiber->context, (uintptr_t)block->home);
}

static void install(void)
{
    pthread_mutex_lock(&installing);
    for (int i = 0; i < WATCHED; i++) {
        struct sigaction action = {.sa_sigaction = on_fault,
                                   .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
        struct sigaction before;
        sigemptyset(&action.sa_mask);
        sigaction(watched[i], &action, &before);
        if (before.sa_sigaction != on_fault) {
            previous[i] = before;
            passed_on[i] = false;
        }
    }
    atomic_store(&installed, true);
    pthread_mutex_unlock(&installing);
}

static host *host_create(void)
{
    host *h = calloc(1, sizeof *h);
    stack_t before;
    if (!h) {
        return NULL;
    }
    if (sigaltstack(NULL, &before) == 0 && before.ss_flags & SS_DISABLE) {
        h->stack = malloc(HANDLER_STACK);
        if (h->stack) {
            sigaltstack(&(stack_t){.ss_sp = h->stack, .ss_size = HANDLER_STACK}, NULL);
        }
    }
    pthread_setspecific(key, h);
    return h;
}

void gm_faults_watch(gm_block *block)
{
    host *h = pthread_getspecific(key);
    if (!h && !(h = host_create())) {
        return; /* without memory: faults are then not the kernel's */
    }
    struct sigaction now;
    if (block && (!atomic_load(&installed) || sigaction(SIGSEGV, NULL, &now) != 0 ||
                  now.sa_sigaction != on_fault)) {
        install();
    }
    h->block = block;
}

/* ---- messages ----------------------------------------------------------------------------- */

static void describe_address(const gm_block *block, const gm_fault *fault)
{
    const gm_fiber *fiber = block->running_fiber;
    unsigned long long address = fault->address;
    gm_region stacks;
    if (fault->address < (uintptr_t)fiber->stack &&
        gm_fiber_owns(&block->fibers, fault->address, &stacks)) {
        gm_find(GM_RULE_STACK, "stack overflow: more than %zu KiB of local variables and calls",
                fiber->stack_bytes / 1024);
    } else if (fault->pc == fault->address && address < NULL_PAGE) {
        gm_find(GM_RULE_CALL, "a call of a null function pointer");
    } else if (fault->pc == fault->address) {
        gm_find(GM_RULE_CALL, "a call of a function at address 0x%llx, where there is none",
                address);
    } else if (fault->code == SI_KERNEL) { /* the processor does not say which address */
        gm_find(GM_RULE_OUT_OF_BOUNDS, "an access to an invalid or misaligned address");
    } else if (address < NULL_PAGE) {
        gm_find(GM_RULE_NULL_POINTER, "an access at address %llu, a null pointer", address);
    } else {
        gm_find(GM_RULE_OUT_OF_BOUNDS, "an access at address 0x%llx, where there is no memory",
                address);
    }
}

void gm_faults_describe(const gm_block *block, const gm_fault *fault)
{
    switch (fault->signal) {
    case SIGFPE:
        /* A GPU goes on with a meaningless quotient. */
        gm_find(GM_RULE_DIVISION, "an integer division by zero, or of the smallest number by -1");
        return;
    case SIGILL:
    case SIGTRAP:
        gm_find(GM_RULE_TRAP,
                "a trap: __builtin_trap, or code that can only be reached by undefined behaviour");
        return;
    case SIGABRT: gm_find(GM_RULE_TRAP, "a call of abort"); return;
    default: describe_address(block, fault);
    }
}
