/*
 * fuzz_bundle.c: what `kubetape import` reads of support bundles. Input: a byte that says how it is read, then the
 * bytes: 0 an archive, 1 to 3 files of must-gather, support-bundle or crust-gather, each as its path, a NUL, its text
 * and a byte 1.
 */
#include "schema/tape/writer.h"
#include "tests/fuzz/fuzz.h"
#include "tools/import/bundle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BLOCK 512

static bool go_on(void *context, uint64_t bytes)
{
	(void)context, (void)bytes;
	return false;
}

static void hear(void *context, const struct err *why)
{
	(void)context;
	fuzz_demand(why->code < 0 && why->text[0]);
}

static void put(int fd, const void *bytes, size_t len)
{
	fuzz_demand(write(fd, bytes, len) == (ssize_t)len);
}

/* An entry of a tar. */
static void put_file(int fd, struct slice path, struct slice text)
{
	char head[BLOCK] = {0}, zeros[BLOCK] = {0};
	unsigned sum = 0;

	memcpy(head, path.ptr, path.len < 100 ? path.len : 99);
	snprintf(head + 100, 24, "0000644");
	snprintf(head + 124, 12, "%011zo", text.len);
	snprintf(head + 136, 12, "%011o", 0);
	memset(head + 148, ' ', 8);
	head[156] = '0';
	memcpy(head + 257, "ustar\00000", 8);
	for (size_t i = 0; i < sizeof(head); i++)
		sum += (unsigned char)head[i];
	snprintf(head + 148, 8, "%06o", sum);
	put(fd, head, sizeof(head));
	put(fd, text.ptr, text.len);
	put(fd, zeros, (BLOCK - text.len % BLOCK) % BLOCK);
}

static void put_files(int fd, struct slice text)
{
	while (text.ptr && text.len) {
		struct slice content = slice_cut(&text, 1), path = slice_cut(&content, 0);

		if (content.ptr && path.len)
			put_file(fd, path, content);
	}
}

static void import(int fd, enum bundle_form form)
{
	const struct bundle_options options = {.form = form, .step = go_on, .complain = hear};
	char path[64], command[100];
	struct bundle_counts counts;
	struct tape_writer *w;
	struct importer *m;
	struct err err = {0};
	int rc;

	snprintf(path, sizeof(path), "/dev/shm/fuzz-bundle-%d.tape", (int)getpid());
	snprintf(command, sizeof(command), "rm -rf %s", path);
	fuzz_demand(tape_writer_open(path, NULL, &w, &err) == 0);
	m = importer_new(w, "x", NULL);
	rc = bundle_import(m, fd, "x", &options, &counts, &err);
	fuzz_demand(rc == 0 || (rc < 0 && err.text[0]));
	fuzz_demand(importer_end(m, &err) == 0);
	importer_free(m);
	fuzz_demand(tape_writer_close(w, &err) == 0);
	fuzz_demand(system(command) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct slice text = {(const char *)bytes + 1, len - 1};
	int fd;

	if (len < 2)
		return 0;
	fd = memfd_create("fuzz", MFD_CLOEXEC);
	fuzz_demand(fd >= 0);
	if (bytes[0] % 4 == 0)
		put(fd, text.ptr, text.len);
	else
		put_files(fd, text);
	import(fd, (enum bundle_form)(bytes[0] % 4));
	close(fd);
	return 0;
}
