/*
 * pod_become.c: a process becomes the command in a pod; see pod.h. Where the service account's folder does not exist,
 * which only root could make, its nearest ancestor is covered by a folder with the same contents, and with the missing
 * ones:
 *
 *     /var/run -> /run      shows FOLDER/around: all of /run, bound there one by one, and secrets/kubernetes.io/...
 */
#include "replayer/pod.h"

#include "schema/base/buf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static int put_line(const char *path, const char *line)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), rc = 0;

	if (fd < 0 || write(fd, line, strlen(line)) < 0)
		rc = -1;
	if (fd >= 0)
		close(fd);
	return rc;
}

/* Nobody becomes another user; setgroups must be given up for that (user_namespaces(7)). */
static int keep_user(uid_t uid, gid_t gid)
{
	char user[64], group[64];

	snprintf(user, sizeof(user), "%u %u 1\n", (unsigned)uid, (unsigned)uid);
	snprintf(group, sizeof(group), "%u %u 1\n", (unsigned)gid, (unsigned)gid);
	(void)!put_line("/proc/self/setgroups", "deny\n");
	return put_line("/proc/self/uid_map", user) || put_line("/proc/self/gid_map", group) ? -1 : 0;
}

static int isolate(struct err *err)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	bool done = unshare(CLONE_NEWNS) == 0;

	if (!done && errno == EPERM)
		done = unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && keep_user(uid, gid) == 0;
	if (!done || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return err_set_errno(
			err, errno, "'--in-cluster' needs a mount namespace, which this system refuses");
	return 0;
}

static int bind_to(const char *what, const char *where, struct err *err)
{
	return mount(what, where, NULL, MS_BIND | MS_REC, NULL)
		       ? err_set_errno(err, errno, "cannot show '%s' at '%s'", what, where)
		       : 0;
}

/* Makes the missing folders of a path below one that exists. */
static int make_path(const char *base, const char *path, struct err *err)
{
	int rc = 0;

	for (size_t len = 0; rc == 0 && path[len];) {
		char *made;

		len += 1 + strcspn(path + len + 1, "/");
		made = xasprintf("%s%.*s", base, (int)len, path);
		if (mkdir(made, 0755))
			rc = err_set_errno(err, errno, "cannot make '%s'", made);
		free(made);
	}
	return rc;
}

/* One entry. What cannot be shown is left out: it may be gone by now. */
static void mirror_entry(const char *from, const char *to)
{
	char target[PATH_MAX];
	struct stat st;
	ssize_t len;
	int fd;

	if (lstat(from, &st))
		return;
	if (S_ISLNK(st.st_mode)) {
		len = readlink(from, target, sizeof(target) - 1);
		target[len < 0 ? 0 : len] = '\0';
		(void)!symlink(target, to);
		return;
	}
	if (S_ISDIR(st.st_mode)) {
		(void)!mkdir(to, 0755);
	} else {
		fd = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (fd >= 0)
			close(fd);
	}
	(void)!mount(from, to, NULL, MS_BIND | MS_REC, NULL);
}

static int mirror(const char *from, const char *to, struct err *err)
{
	DIR *dir = opendir(from);
	struct dirent *e;

	if (!dir)
		return err_set_errno(err, errno, "cannot open '%s'", from);
	while ((e = readdir(dir))) {
		char *one = xasprintf("%s/%s", from, e->d_name), *other = xasprintf("%s/%s", to, e->d_name);

		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			mirror_entry(one, other);
		free(one);
		free(other);
	}
	closedir(dir);
	return 0;
}

/* The part of a path that exists, without links; *rest is what is missing. The caller frees. */
static char *nearest(const char *path, const char **rest)
{
	char *part = xstrdup(path), *real;

	*rest = "";
	while (!(real = realpath(part, NULL))) {
		char *slash = strrchr(part, '/');

		*rest = path + (slash - part);
		*slash = '\0';
		if (!*part) {
			real = xstrdup("/");
			break;
		}
	}
	free(part);
	return real;
}

/* Covers a folder by one that has the missing ones as well. */
static int cover(const char *base, const char *around, const char *missing, struct err *err)
{
	int rc = mount("none", around, "tmpfs", 0, "mode=0755")
			 ? err_set_errno(err, errno, "cannot mount a tmpfs at '%s'", around)
			 : mirror(base, around, err);

	if (rc == 0)
		rc = make_path(around, missing, err);
	return rc ? rc : bind_to(around, base, err);
}

static int make_account(const char *around, struct err *err)
{
	const char *missing;
	char *base = nearest(POD_ACCOUNT, &missing);
	int rc = *missing ? cover(base, around, missing, err) : 0;

	free(base);
	return rc;
}

int pod_become(char **words, struct err *err)
{
	char *account = xasprintf("%s/account", words[0]), *around = xasprintf("%s/around", words[0]);
	int rc = isolate(err);

	if (rc == 0)
		rc = make_account(around, err);
	if (rc == 0)
		rc = bind_to(account, POD_ACCOUNT, err);
	free(account);
	free(around);
	if (rc)
		return rc;
	execvp(words[1], words + 1);
	return err_set(err, ERR_NOT_FOUND, "cannot run '%s': %s", words[1], strerror(errno));
}
