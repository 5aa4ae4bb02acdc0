/* pod.c: the files of a pod; see pod.h. pod_become.c shows them to the command. */
#include "replayer/pod.h"

#include "schema/base/buf.h"
#include "schema/base/count_of.h"
#include "schema/base/own_program.h"
#include "schema/base/temp_folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define VARIABLES 3

struct pod {
	char *folder;           /* NULL: it could not be made */
	char program[PATH_MAX]; /* ours */
	char *variables[VARIABLES + 1];
};

/* Below the folder: what is shown, and where what is shown around it is put together. */
static const char *const folders[] = {"account", "around"};
static const char *const files[] = {"account/token", "account/ca.crt", "account/namespace"};

static int put_file(const char *folder, const char *name, const char *text, struct err *err)
{
	char *path = xasprintf("%s/%s", folder, name);
	FILE *file = fopen(path, "wex");
	bool failed = !file || fputs(text, file) < 0;
	int rc;

	if (file)
		failed |= fclose(file) != 0;
	rc = failed ? err_set_errno(err, errno, "cannot write '%s'", path) : 0;
	free(path);
	return rc;
}

static int make_folders(struct pod *p, struct err *err)
{
	int rc = temp_folder_make("pod", &p->folder, err);

	for (size_t i = 0; i < COUNT_OF(folders) && rc == 0; i++) {
		char *path = xasprintf("%s/%s", p->folder, folders[i]);

		if (mkdir(path, 0755))
			rc = err_set_errno(err, errno, "cannot make '%s'", path);
		free(path);
	}
	return rc;
}

/* Host and port of the URL; an IPv6 address without its brackets. */
static void make_variables(struct pod *p, const char *url)
{
	const char *host = strstr(url, "://") + 3, *port = strrchr(host, ':');
	bool six = *host == '[';
	int len = (int)(port - host) - 2 * six;

	p->variables[0] = xasprintf("KUBERNETES_SERVICE_HOST=%.*s", len, host + six);
	p->variables[1] = xasprintf("KUBERNETES_SERVICE_PORT=%s", port + 1);
	p->variables[2] = xasprintf("KUBERNETES_SERVICE_PORT_HTTPS=%s", port + 1);
}

int pod_make(const struct pod_options *options, struct pod **ret, struct err *err)
{
	struct pod *p = xcalloc(1, sizeof(*p));
	int rc;

	own_program(p->program);
	make_variables(p, options->url);
	rc = make_folders(p, err);
	if (rc == 0)
		rc = put_file(p->folder, files[0], options->token, err);
	if (rc == 0)
		rc = put_file(p->folder, files[1], options->authority_pem, err);
	if (rc == 0)
		rc = put_file(p->folder, files[2], options->namespace, err);
	if (rc)
		pod_remove(p);
	else
		*ret = p;
	return rc;
}

static void remove_below(const struct pod *p, const char *name, int (*removes)(const char *path))
{
	char *path = xasprintf("%s/%s", p->folder, name);

	(void)!removes(path);
	free(path);
}

static void remove_files(const struct pod *p)
{
	for (size_t i = 0; i < COUNT_OF(files); i++)
		remove_below(p, files[i], unlink);
	for (size_t i = 0; i < COUNT_OF(folders); i++)
		remove_below(p, folders[i], rmdir);
	rmdir(p->folder);
}

void pod_remove(struct pod *p)
{
	if (!p)
		return;
	if (p->folder)
		remove_files(p);
	for (size_t i = 0; i < VARIABLES; i++)
		free(p->variables[i]);
	free(p->folder);
	free(p);
}

char *const *pod_variables(const struct pod *p)
{
	return p->variables;
}

char **pod_command(const struct pod *p, char *const *command)
{
	size_t count = 0;
	char **made;

	while (command[count])
		count++;
	made = xcalloc(count + 4, sizeof(*made));
	made[0] = (char *)p->program;
	made[1] = (char *)POD_WORD;
	made[2] = p->folder;
	memcpy(made + 3, command, count * sizeof(*made));
	return made;
}
