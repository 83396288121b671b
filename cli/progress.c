/* SPDX-License-Identifier: Apache-2.0
 * The progress bar and the signal handlers. */
#include "cli/progress.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "cli/print.h"

enum { TAIL_ROOM = 256, BAR_LEAST = 4, BAR_MOST = 40, MEANT = 10 };

static volatile sig_atomic_t interrupted, polled;
static const char *volatile scratch_file, *volatile scratch_folder;
static const double redraw_seconds = 0.1;

/* Everything that ends the command. */
static const int ending[] = {SIGINT, SIGTERM, SIGHUP};

/* The first signal asks for the end, the second ends at once; but one within a second of the first is the same wish:
 * timeout(1) and service managers send theirs to the process and to its group. Async-signal-safe: clock_gettime,
 * unlink, rmdir, write and _exit only. */
static void on_signal(int number)
{
    static const char message[] = "reprise: interrupted\n";
    static struct timespec first; /* handlers hold off one another */
    struct timespec now = {0, 0};

    (void)number;
    if (polled) {
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        if (!interrupted) {
            interrupted = 1;
            first = now;
            return;
        }
        if ((now.tv_sec - first.tv_sec) * 1000000000LL + (now.tv_nsec - first.tv_nsec) < 1000000000LL)
            return;
    }
    rp_file_remove_temporaries();
    if (scratch_file)
        (void)unlink(scratch_file);
    if (scratch_folder)
        (void)rmdir(scratch_folder);
    if (write(STDERR_FILENO, message, sizeof message - 1) < 0) {
        /* the exit code says it too */
    }
    _exit(rp_exit_code(RP_ECANCELED));
}

static sigset_t ending_set(void)
{
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
        sigaddset(&set, ending[i]);
    return set;
}

void rp_signals_install(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, ignore = {.sa_handler = SIG_IGN}, old;

    sigemptyset(&ignore.sa_mask);
    (void)sigaction(SIGPIPE, &ignore, NULL);
    action.sa_mask = ending_set();
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++) {
        /* nohup(1) asks for SIGHUP to stay ignored */
        if (ending[i] == SIGHUP && sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler == SIG_IGN)
            continue;
        (void)sigaction(ending[i], &action, NULL);
    }
}

void rp_signals_hold(bool hold)
{
    sigset_t set = ending_set();

    (void)pthread_sigmask(hold ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

void rp_signals_scratch(const char *file, const char *folder)
{
    scratch_file = file;
    scratch_folder = folder;
}

static void put(const rp_buffer *line)
{
    /* a progress bar that cannot be drawn is no reason to fail */
    if (!line->failed && write(STDERR_FILENO, line->data, line->size) < 0)
        return;
}

void rp_meter_begin(rp_meter *meter, const char *label)
{
    const char *terminal = getenv("TERM"), *plain = getenv("NO_COLOR");

    *meter = (rp_meter){.label = label, .start = rp_clock()};
    meter->shown = isatty(STDERR_FILENO) && terminal && *terminal && strcmp(terminal, "dumb") != 0;
    meter->colour = !(plain && *plain);
    interrupted = 0;
    polled = 0;
}

/* As wide as the terminal is now: asked for every drawing, so a new width is followed. A terminal that does not know
 * its width may have been told by COLUMNS. */
static size_t columns(void)
{
    struct winsize size;
    const char *told = getenv("COLUMNS");
    size_t width = 0;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    for (; told && *told >= '0' && *told <= '9' && width < 10000; told++)
        width = width * 10 + (size_t)(*told - '0');
    return width ? width : 80;
}

/* How much is done of all trials, or of the run. */
static double share_done(const rp_progress *p)
{
    const double part = p->steps ? (double)p->step / (double)p->steps : 0;

    return p->trials ? ((double)(p->trial - 1) + part) / (double)p->trials : part;
}

/* A step of those in all; of a table that is being read its bytes. */
static size_t count_text(char *out, size_t size, const rp_progress *p, bool bytes)
{
    char done[RP_NUMBER_TEXT], all[RP_NUMBER_TEXT];
    int n;

    if (bytes)
        n = p->steps ? snprintf(out, size, "%s/%s", rp_memory_text(done, p->step), rp_memory_text(all, p->steps))
                     : snprintf(out, size, "%s", rp_memory_text(done, p->step));
    else if (p->trials)
        n = snprintf(out, size, "trial %llu/%llu", (unsigned long long)p->trial, (unsigned long long)p->trials);
    else
        n = snprintf(out, size, "%llu/%llu", (unsigned long long)p->step, (unsigned long long)p->steps);
    return (size_t)n;
}

/* What stands behind the bar: all of it, or as much as leaves the line whole, the least important first gone. */
static size_t tail_text(char out[TAIL_ROOM], const rp_progress *p, bool bytes, double seconds, size_t room)
{
    char loss[RP_NUMBER_TEXT], eta[RP_NUMBER_TEXT], count[64], part[2][64];
    const double done = share_done(p);
    size_t used = count_text(count, sizeof count, p, bytes);

    if (used > room)
        used = (size_t)snprintf(count, sizeof count, "%u%%", (unsigned)(100 * done));
    (void)snprintf(out, TAIL_ROOM, "%s", used <= room ? count : "");
    used = strlen(out);
    (void)snprintf(part[0], sizeof part[0], "  ETA %s s", rp_fixed(eta, seconds * (1 - done) / done, 0));
    (void)snprintf(part[1], sizeof part[1], "  loss %s", p->loss < INFINITY ? rp_fixed(loss, (double)p->loss, 4) : "-");
    for (size_t i = 0; i < 2; i++)
        if ((i == 0 ? done > 0 : p->loss < INFINITY) && used + strlen(part[i]) <= room) {
            memcpy(out + used, part[i], strlen(part[i]) + 1);
            used += strlen(part[i]);
        }
    return used;
}

/* Never as wide as the terminal: a full line would go on in the next, which nothing takes back. */
static void draw(rp_meter *meter, const rp_progress *p, double now)
{
    char tail[TAIL_ROOM];
    const char *name = meter->reading ? "reading" : meter->label;
    const size_t width = columns() - 1, label = strlen(name);
    const bool named = label + 2 + MEANT <= width; /* a long name gives way to figures */
    const size_t left = width - (named ? label + 2 : 0);
    const size_t used = tail_text(tail, p, meter->reading, now - meter->start, left);
    const size_t bar = left < used + 2 + BAR_LEAST + 2 ? 0 : left - used - 4 < BAR_MOST ? left - used - 4 : BAR_MOST;
    const size_t filled = (size_t)((double)bar * share_done(p));
    rp_buffer line = {0};

    rp_buffer_u8(&line, '\r');
    if (named) {
        rp_put_plain_line(&line, name); /* the name of a golden is that of a file */
        rp_buffer_text(&line, used ? "  " : "");
    }
    if (bar)
        rp_buffer_printf(&line, "[%s", meter->colour ? "\033[32m" : "");
    for (size_t i = 0; i < bar; i++)
        rp_buffer_u8(&line, i < filled ? '#' : '.');
    if (bar)
        rp_buffer_printf(&line, "%s]  ", meter->colour ? "\033[0m" : "");
    rp_buffer_printf(&line, "%s\033[K", tail);
    put(&line);
    rp_buffer_free(&line);
    meter->drawn = true;
}

void rp_meter_outlook(void *self, uint64_t steps, uint64_t memory)
{
    rp_meter *meter = self;
    char text[RP_NUMBER_TEXT];
    rp_buffer line = {0};

    if (!meter->shown)
        return;
    rp_meter_clear(meter);
    rp_buffer_printf(&line, "%s: %llu %s, %s of memory\n", meter->label, (unsigned long long)steps,
                     steps == 1 ? "step" : "steps", rp_memory_text(text, memory));
    put(&line);
    rp_buffer_free(&line);
}

bool rp_meter_update(void *self, const rp_progress *progress)
{
    rp_meter *meter = self;

    /* After the last step nobody asks again. Before the answer, so that a signal in between is not lost. */
    polled = progress->step < progress->steps;
    if (meter->shown && progress->step && progress->steps) {
        double now = rp_clock();

        if (meter->reading || (meter->trying && !progress->trials)) /* behind the trials the run itself begins */
            meter->start = now;
        meter->trying = progress->trials > 0;
        meter->reading = false;
        if (now - meter->last >= redraw_seconds) {
            meter->last = now;
            draw(meter, progress, now);
        }
    }
    return !interrupted;
}

void rp_meter_reading(void *self, uint64_t bytes, uint64_t all)
{
    rp_meter *meter = self;
    const double now = rp_clock();

    if (!meter->shown || now - (meter->last > 0 ? meter->last : meter->start) < redraw_seconds)
        return;
    if (!meter->reading)
        meter->start = now;
    meter->reading = true;
    meter->last = now;
    draw(meter, &(rp_progress){.step = bytes, .steps = all, .loss = INFINITY}, now);
}

void rp_meter_clear(rp_meter *meter)
{
    static unsigned char clear[] = "\r\033[K";

    if (meter->drawn)
        put(&(rp_buffer){.data = clear, .size = sizeof clear - 1});
    meter->drawn = false;
}

void rp_meter_end(rp_meter *meter)
{
    rp_meter_clear(meter);
    polled = 0;
}
