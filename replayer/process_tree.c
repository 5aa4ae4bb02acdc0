/* process_tree.c: see process_tree.h. Each thread has children of its own; a process may have started one in any. */
#include "replayer/process_tree.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEPTH_MAX 32 /* of wrappers that start one another */

/* What is done to each process, before and after all that it has started, and to each of its threads; NULL: nothing. */
struct tree_visit {
	void (*process)(struct tree_visit *v, pid_t pid);
	void (*leave)(struct tree_visit *v, pid_t pid);
	void (*thread)(struct tree_visit *v, pid_t pid, const char *tid);
	bool awake;
	uint64_t pages;
};

static FILE *open_of_thread(pid_t pid, const char *tid, const char *file)
{
	char path[320];

	snprintf(path, sizeof(path), "/proc/%d/task/%s/%s", (int)pid, tid, file);
	return fopen(path, "re");
}

static void tree_walk(struct tree_visit *v, pid_t pid, int depth);

static void walk_children(struct tree_visit *v, pid_t pid, const char *tid, int depth)
{
	FILE *file = open_of_thread(pid, tid, "children");
	int child;

	while (file && fscanf(file, "%d", &child) == 1)
		tree_walk(v, child, depth + 1);
	if (file)
		fclose(file);
}

static void walk_threads(struct tree_visit *v, pid_t pid, int depth)
{
	char path[64];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		if (*entry->d_name == '.')
			continue;
		if (v->thread)
			v->thread(v, pid, entry->d_name);
		walk_children(v, pid, entry->d_name, depth);
	}
	if (dir)
		closedir(dir);
}

static void tree_walk(struct tree_visit *v, pid_t pid, int depth)
{
	if (v->process)
		v->process(v, pid);
	if (depth < DEPTH_MAX)
		walk_threads(v, pid, depth);
	if (v->leave)
		v->leave(v, pid);
}

/* ---- killing ---- */

static void visit_stop(struct tree_visit *v, pid_t pid)
{
	(void)v;
	kill(pid, SIGSTOP); /* nothing more is started */
}

/* Children first: those of a dead process are nobody's. */
static void visit_kill(struct tree_visit *v, pid_t pid)
{
	(void)v;
	kill(pid, SIGKILL);
}

void process_tree_kill(pid_t pid)
{
	tree_walk(&(struct tree_visit){.process = visit_stop, .leave = visit_kill}, pid, 0);
}

/* ---- sleeping ---- */

/* The state stands after the name, which is in parentheses and may hold any. */
static void visit_state(struct tree_visit *v, pid_t pid, const char *tid)
{
	FILE *file = v->awake ? NULL : open_of_thread(pid, tid, "stat");
	char text[128];
	const char *end;

	if (!file)
		return;
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	end = strrchr(text, ')');
	v->awake = end && end[1] == ' ' && (end[2] == 'R' || end[2] == 'D');
}

bool process_tree_is_awake(pid_t pid)
{
	struct tree_visit v = {.thread = visit_state};

	tree_walk(&v, pid, 0);
	return v.awake;
}

/* ---- memory ---- */

static void visit_memory(struct tree_visit *v, pid_t pid)
{
	char path[64];
	unsigned long long size, resident;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	file = fopen(path, "re");
	if (file && fscanf(file, "%llu %llu", &size, &resident) == 2)
		v->pages += resident;
	if (file)
		fclose(file);
}

uint64_t process_tree_memory(pid_t pid)
{
	struct tree_visit v = {.process = visit_memory};

	tree_walk(&v, pid, 0);
	return v.pages * (uint64_t)sysconf(_SC_PAGESIZE);
}
