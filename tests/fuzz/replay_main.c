/*
 * replay_main.c: runs a fuzz target over the files and directories that are named, and over the empty input.
 * Each input is read into memory of its own size, so that a sanitizer sees a byte read after its end.
 */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static unsigned input_count;

static int run_file(const char *path, size_t len)
{
	FILE *file = fopen(path, "rb");
	uint8_t *bytes = malloc(len ? len : 1);
	int rc = -1;

	if (file && bytes && fread(bytes, 1, len, file) == len) {
		LLVMFuzzerTestOneInput(bytes, len);
		input_count++;
		rc = 0;
	} else {
		fprintf(stderr, "cannot read '%s'\n", path);
	}
	free(bytes);
	if (file)
		fclose(file);
	return rc;
}

static int run_path(const char *path)
{
	char inner[4096];
	struct dirent *entry;
	struct stat st;
	DIR *dir;
	int rc = 0;

	if (stat(path, &st) < 0)
		return errno == ENOENT ? 0 : -1;
	if (S_ISREG(st.st_mode))
		return run_file(path, (size_t)st.st_size);
	dir = opendir(path);
	while (dir && rc == 0 && (entry = readdir(dir)) != NULL) {
		snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name);
		if (entry->d_name[0] != '.')
			rc = run_path(inner);
	}
	if (dir)
		closedir(dir);
	return rc;
}

int main(int argc, char **argv)
{
	const char *name = strrchr(argv[0], '/');

	LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
	for (int i = 1; i < argc; i++) {
		if (run_path(argv[i]) < 0)
			return EXIT_FAILURE;
	}
	printf("%s: %u files\n", name ? name + 1 : argv[0], input_count);
	return EXIT_SUCCESS;
}
