/*
 * fuzz_import.c: what `kubetape import` reads of others. Input: a byte that says how it is read, then the
 * bytes: 0 an archive of k8shark, 1 YAML documents, 2 documents for the importer, which makes a tape of them.
 */
#include "tests/fuzz/fuzz.h"
#include "tools/import/import.h"
#include "tools/import/kshrk_archive.h"
#include "tools/import/yaml_documents.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void read_archive(int fd)
{
	struct kshrk_archive *a;
	struct slice record;
	struct err err = {0};

	if (kshrk_archive_open(fd, "x", &a, &err)) {
		fuzz_demand(err.code < 0 && err.text[0]);
		return;
	}
	while (kshrk_archive_next(a, &record, &err) > 0)
		fuzz_demand(record.len == 0 || record.ptr);
	kshrk_archive_close(a);
}

static void read_yaml(int fd)
{
	struct json_documents lines;
	struct yaml_documents y;
	struct slice document;
	struct err err = {0};

	json_documents_init(&lines, fd, "x");
	yaml_documents_init(&y, &lines, 1700000000000000000);
	while (yaml_documents_next(&y, &document, &err) > 0)
		fuzz_demand(document.len == strlen(document.ptr));
	yaml_documents_release(&y);
	json_documents_release(&lines);
}

static void import(int fd)
{
	char path[64], command[100];
	struct json_documents documents;
	struct tape_writer *w;
	struct importer *m;
	struct slice document;
	struct err err = {0};

	snprintf(path, sizeof(path), "/dev/shm/fuzz-import-%d.tape", (int)getpid());
	snprintf(command, sizeof(command), "rm -rf %s", path);
	fuzz_demand(tape_writer_open(path, NULL, &w, &err) == 0);
	m = importer_new(w, "x", NULL);
	json_documents_init(&documents, fd, "x");
	while (json_documents_next(&documents, &document, &err) > 0 && importer_add(m, document, &err) == 0)
		continue;
	fuzz_demand(importer_end(m, &err) == 0);
	json_documents_release(&documents);
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
	fuzz_demand(
		fd >= 0 && write(fd, text.ptr, text.len) == (ssize_t)text.len && lseek(fd, 0, SEEK_SET) == 0);
	switch (bytes[0] % 3) {
	case 0: read_archive(fd); break;
	case 1: read_yaml(fd); break;
	default: import(fd);
	}
	close(fd);
	return 0;
}
