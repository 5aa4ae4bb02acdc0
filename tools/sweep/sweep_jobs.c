/*
 * sweep_jobs.c: replays as processes. See sweep.h.
 *
 * A replay is a fork of us, not a new program: libraries are loaded and set up once. No tape and no run is open then,
 * and no other thread runs.
 *
 * Each is the leader of a process group, so that Ctrl-C on the terminal reaches us alone, and so that nothing
 * of it is left when it has ended. One that takes too long is asked to end, and then killed.
 */
#include "tools/sweep/sweep.h"

#include "schema/base/clock.h"
#include "schema/base/processors.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GRACE_NS (15 * NS_PER_S) /* longer than a replay gives its command */

static void fill_signals(sigset_t *to)
{
	sigemptyset(to);
	sigaddset(to, SIGCHLD);
	sigaddset(to, SIGINT);
	sigaddset(to, SIGTERM);
}

void sweep_jobs_prepare(void)
{
	sigset_t signals;

	fill_signals(&signals);
	sigprocmask(SIG_BLOCK, &signals, NULL);
}

/* In the child; does not return. */
static void become(const struct command *replay, char **arguments, int output)
{
	sigset_t signals;
	int count = 0;
	int input = open("/dev/null", O_RDONLY);

	fill_signals(&signals);
	sigprocmask(SIG_UNBLOCK, &signals, NULL);
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	dup2(input, STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	while (arguments[count])
		count++;
	exit(replay->run(replay, count, arguments));
}

int sweep_job_start(struct sweep_job *job, const struct command *replay, char **arguments, const char *log,
	int64_t timeout_ns, struct err *err)
{
	int output = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	pid_t pid;

	if (output < 0)
		return err_set_errno(err, errno, "cannot write '%s'", log);
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		become(replay, arguments, output);
	close(output);
	if (pid < 0)
		return err_set_errno(err, errno, "cannot start a replay");
	setpgid(pid, pid);
	*job = (struct sweep_job){
		.pid = pid, .begun_ns = clock_mono_ns(&clock_system), .idle_ns = -processors_idle_ns()};
	job->deadline_ns = job->begun_ns + timeout_ns;
	return 0;
}

static int64_t time_of(struct timeval t)
{
	return t.tv_sec * NS_PER_S + t.tv_usec * NS_PER_US;
}

/* Ends what it left behind while its number is still its own. */
static bool has_ended(struct sweep_job *job)
{
	struct rusage used = {0};
	siginfo_t info = {0};

	if (waitid(P_PID, (id_t)job->pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid == 0)
		return false;
	kill(-job->pid, SIGKILL);
	wait4(job->pid, NULL, 0, &used);
	job->lasted_ns = clock_mono_ns(&clock_system) - job->begun_ns;
	job->idle_ns += processors_idle_ns();
	job->used_ns = time_of(used.ru_utime) + time_of(used.ru_stime);
	job->pid = 0;
	return true;
}

static void press(struct sweep_job *job, int64_t now_ns)
{
	if (now_ns < job->deadline_ns)
		return;
	if (job->timed_out)
		kill(-job->pid, SIGKILL);
	else
		kill(job->pid, SIGTERM);
	job->timed_out = true;
	job->deadline_ns = now_ns + GRACE_NS;
}

/* Until the next deadline, or a signal, or `most_ns` are over. Returns the signal's number, or -1. */
static int sweep_jobs_rest(const struct sweep_job *jobs, size_t count, int64_t most_ns)
{
	int64_t until_ns = INT64_MAX, left_ns;
	struct timespec left;
	sigset_t signals;

	for (size_t i = 0; i < count; i++) {
		if (jobs[i].pid && jobs[i].deadline_ns < until_ns)
			until_ns = jobs[i].deadline_ns;
	}
	left_ns = until_ns - clock_mono_ns(&clock_system);
	if (left_ns < 0)
		left_ns = 0;
	if (left_ns > most_ns)
		left_ns = most_ns;
	left = (struct timespec){left_ns / NS_PER_S, left_ns % NS_PER_S};
	fill_signals(&signals);
	return sigtimedwait(&signals, NULL, &left);
}

static int find_ended(struct sweep_job *jobs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (jobs[i].pid && has_ended(&jobs[i]))
			return (int)i;
	}
	return -1;
}

static bool any_runs(const struct sweep_job *jobs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (jobs[i].pid)
			return true;
	}
	return false;
}

static void end_all(struct sweep_job *jobs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		jobs[i].deadline_ns = 0;
	while (any_runs(jobs, count)) {
		for (size_t i = 0; i < count; i++) {
			if (jobs[i].pid)
				press(&jobs[i], clock_mono_ns(&clock_system));
		}
		if (sweep_jobs_rest(jobs, count, INT64_MAX) == SIGINT) {
			for (size_t i = 0; i < count; i++)
				jobs[i].deadline_ns = 0;
		}
		while (find_ended(jobs, count) >= 0)
			;
	}
}

static void look_at_all(struct sweep_job *jobs, size_t count, const struct sweep_looker *looker)
{
	for (size_t i = 0; i < count; i++) {
		if (jobs[i].pid && !jobs[i].timed_out && looker->look(looker->context, i))
			jobs[i].deadline_ns = 0;
	}
}

int sweep_jobs_wait(struct sweep_job *jobs, size_t count, const struct sweep_looker *looker)
{
	for (;;) {
		int ended = find_ended(jobs, count), signal_number;

		if (ended >= 0)
			return ended;
		for (size_t i = 0; i < count; i++) {
			if (jobs[i].pid)
				press(&jobs[i], clock_mono_ns(&clock_system));
		}
		signal_number = sweep_jobs_rest(jobs, count, looker ? looker->every_ns : INT64_MAX);
		if (signal_number == SIGINT || signal_number == SIGTERM) {
			end_all(jobs, count);
			return -1;
		}
		if (looker)
			look_at_all(jobs, count, looker);
	}
}
