/*
 * launcher.c: bin/kubetape of the tarball. It starts the program with the C library and the libraries that
 * lie beside it, so that those of the machine, which may be older, or another C library altogether, do not
 * matter.
 *
 *   bin/kubetape                     this, linked statically
 *   lib/kubetape/bundle/kubetape     the dynamic loader, under the name that `ps` then shows
 *   lib/kubetape/bundle/program      the program
 *   lib/kubetape/bundle/lib*.so.*    what it links with
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OWN_WORDS 6

/* Where bin/kubetape lies; false if that cannot be told. */
static bool find_root(char path[PATH_MAX])
{
	ssize_t len = readlink("/proc/self/exe", path, PATH_MAX - 1);
	char *end;

	if (len < 0) {
		*path = '\0';
		return false;
	}
	path[len] = '\0';
	for (int up = 0; up < 2; up++) {
		end = strrchr(path, '/');
		if (!end)
			return false;
		*end = '\0';
	}
	return true;
}

/* The loader's own options first, then the program and its arguments. Returns if it cannot be started. */
static void launcher_start(const char *root, int argc, char **argv)
{
	char **words = calloc((size_t)argc + OWN_WORDS, sizeof(*words));
	char *bundle, *loader, *program;

	if (!words || asprintf(&bundle, "%s/lib/kubetape/bundle", root) < 0 ||
		asprintf(&loader, "%s/kubetape", bundle) < 0 || asprintf(&program, "%s/program", bundle) < 0)
		return;
	words[0] = loader;
	words[1] = (char *)"--library-path";
	words[2] = bundle;
	words[3] = (char *)"--argv0";
	words[4] = argv[0];
	words[5] = program;
	memcpy(words + OWN_WORDS, argv + 1, (size_t)(argc - 1) * sizeof(*argv));
	execv(loader, words);
}

int main(int argc, char **argv)
{
	static char root[PATH_MAX];

	if (argc > 0 && find_root(root))
		launcher_start(root, argc, argv);
	if (!*root)
		fprintf(stderr, "kubetape: cannot tell where it lies, as /proc is not mounted: %s\n",
			strerror(errno));
	else
		fprintf(stderr, "kubetape: cannot start the program below '%s': %s\n", root, strerror(errno));
	return 1;
}
