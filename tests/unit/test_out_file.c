#include "schema/base/count_of.h"
#include "schema/base/out_file.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder of its own; the caller frees the path and removes the folder. */
static char *make_folder(void)
{
	char *path = xstrdup("/tmp/kubetape-out-XXXXXX");

	ck_assert_ptr_nonnull(mkdtemp(path));
	return path;
}

static size_t count_files(const char *folder)
{
	DIR *dir = opendir(folder);
	size_t n = 0;

	ck_assert_ptr_nonnull(dir);
	for (struct dirent *e; (e = readdir(dir));)
		n += *e->d_name != '.' || strlen(e->d_name) > 2;
	closedir(dir);
	return n;
}

START_TEST(out_file__appears_when_it_is_closed_and_is_the_owners)
{
	char *folder = make_folder(), *path = xasprintf("%s/x", folder);
	struct out_file *f;
	struct stat st;
	struct err err;
	mode_t before = umask(0);

	ck_assert_ok(out_file_open(path, &f, &err), &err);
	fputs("whole", out_file_stream(f));
	fflush(out_file_stream(f));
	ck_assert_int_ne(access(path, F_OK), 0);
	ck_assert_ok(out_file_close(f, &err), &err);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_mode & 0777, 0600);
	ck_assert_int_eq(st.st_size, 5);
	ck_assert_uint_eq(count_files(folder), 1);
	umask(before);
	unlink(path);
	rmdir(folder);
	free(path);
	free(folder);
}
END_TEST

START_TEST(out_file__that_is_abandoned_leaves_nothing)
{
	char *folder = make_folder(), *path = xasprintf("%s/x", folder);
	struct out_file *f;
	struct err err;

	ck_assert_ok(out_file_open(path, &f, &err), &err);
	fputs("half", out_file_stream(f));
	out_file_abandon(f);
	out_file_abandon(NULL);
	ck_assert_uint_eq(count_files(folder), 0);
	rmdir(folder);
	free(path);
	free(folder);
}
END_TEST

START_TEST(out_file__fails_without_an_err_too)
{
	struct out_file *f;

	ck_assert_int_eq(out_file_open("/nowhere/x", &f, NULL), ERR_NOT_FOUND);
	ck_assert_int_eq(out_file_open("/", &f, NULL), ERR_IO);
	ck_assert_int_eq(out_file_refuse_stream("-", "it", NULL), ERR_USAGE);
	ck_assert_int_eq(out_file_refuse_stream("./-", "it", NULL), 0);
	ck_assert_int_eq(out_file_write("/dev/full", slice_of("a"), NULL), ERR_NO_SPACE);
}
END_TEST

START_TEST(out_file_temporary__has_no_name_anywhere)
{
	char *folder = make_folder(), *path = xasprintf("%s/x", folder);
	struct out_file *f;
	struct err err;
	FILE *lines;
	int c;

	ck_assert_ok(out_file_open(path, &f, &err), &err);
	ck_assert_ok(out_file_temporary(f, &lines, &err), &err);
	fputs("a", lines);
	rewind(lines);
	c = fgetc(lines);
	ck_assert_int_eq(c, 'a');
	ck_assert_uint_eq(count_files(folder), 0);
	fclose(lines);
	out_file_abandon(f);
	rmdir(folder);
	free(path);
	free(folder);
}
END_TEST

START_TEST(out_file_check__says_what_open_would_say_and_opens_nothing)
{
	char *folder = make_folder();
	static const struct {
		const char *name;
		int code;
	} cases[] = {{"new", 0}, {"fifo", 0}, {"loose", 0}, {"none/x", ERR_NOT_FOUND}, {"", ERR_IO},
		{"sub", ERR_IO}};
	struct err err;

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		char *path = xasprintf("%s/%s", folder, cases[i].name);

		if (strcmp(cases[i].name, "fifo") == 0)
			ck_assert_int_eq(mkfifo(path, 0600), 0);
		if (strcmp(cases[i].name, "sub") == 0)
			ck_assert_int_eq(mkdir(path, 0700), 0);
		if (strcmp(cases[i].name, "loose") == 0)
			ck_assert_int_eq(symlink("nowhere", path), 0);
		ck_assert_msg(
			out_file_check(path, &err) == cases[i].code, "'%s': %s", cases[i].name, err.text);
		if (cases[i].code)
			ck_assert_int_eq(out_file_open(path, &(struct out_file *){0}, &err), cases[i].code);
		remove(strcmp(cases[i].name, "") ? path : "/nonexistent");
		free(path);
	}
	ck_assert_uint_eq(count_files(folder), 0);
	ck_assert_int_eq(out_file_check("/dev/fd/999", &err), ERR_IO);
	ck_assert_ok(out_file_check("/dev/null", &err), &err);
	rmdir(folder);
	free(folder);
}
END_TEST

START_TEST(out_stream__tells_of_what_was_lost)
{
	FILE *full = fopen("/dev/full", "w"), *null = fopen("/dev/null", "r");
	struct err err;

	ck_assert_ptr_nonnull(full);
	ck_assert_ptr_nonnull(null);
	ck_assert(out_stream_is_open(full));
	ck_assert(!out_stream_is_open(null));
	fputs("a", full);
	ck_assert_ok(out_stream_check(full, &err), &err);
	ck_assert_int_eq(out_stream_flush(full, &err), ERR_NO_SPACE);
	ck_assert_str_eq(err.text, "cannot write the output: No space left on device");
	ck_assert_int_lt(out_stream_flush(full, &err), 0);
	fclose(full);
	fclose(null);
}
END_TEST

UNIT_MAIN("out_file", out_file__appears_when_it_is_closed_and_is_the_owners,
	out_file__that_is_abandoned_leaves_nothing, out_file__fails_without_an_err_too,
	out_file_temporary__has_no_name_anywhere, out_file_check__says_what_open_would_say_and_opens_nothing,
	out_stream__tells_of_what_was_lost)
