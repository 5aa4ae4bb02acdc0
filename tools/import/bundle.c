/* bundle.c: see bundle.h. The files are gone through twice: for what their names tell, as far as it takes, and to
 * read those that a tape can hold. */
#include "tools/import/bundle.h"

#include "schema/base/limits.h"
#include "tools/import/bundle_files.h"
#include "tools/import/bundle_internal.h"

static bool bundle_is_stopped(const struct bundle *b, const struct bundle_files *f)
{
	return b->options->step(b->options->context, bundle_files_passed(f));
}

static int bundle_stopped(const struct bundle *b, struct err *err)
{
	return err_set(err, ERR_STOPPED, "the import of '%s' was stopped", b->name);
}

/* ---- which form ---- */

static int find_form(struct bundle *b, struct bundle_files *files, struct err *err)
{
	struct bundle_file file;
	int more;

	while (b->form == BUNDLE_ANY && (more = bundle_files_next(files, &file, err)) != 0) {
		if (more < 0)
			return more;
		if (bundle_is_stopped(b, files))
			return bundle_stopped(b, err);
		b->form = bundle_form_of(file.path);
	}
	if (b->form == BUNDLE_ANY)
		return err_set(err, ERR_USAGE,
			"'%s' is no bundle: none of its files lies where must-gather, support-bundle or crust-gather have theirs",
			b->name);
	return 0;
}

static int detect(struct bundle *b, int fd, struct err *err)
{
	struct bundle_files *files;
	int rc = b->form == BUNDLE_ANY ? bundle_files_open(fd, b->name, &files, err) : 1;

	if (rc)
		return rc < 0 ? rc : 0;
	bundle_files_tolerate(files);
	rc = find_form(b, files, err);
	bundle_files_close(files);
	return rc;
}

/* ---- files ---- */

static int read_one(
	struct bundle *b, struct bundle_files *files, const struct bundle_file *file, struct err *err)
{
	struct bundle_part part = bundle_part_of(b->form, file->path);
	struct err why = {0};
	int rc;

	b->counts.logs += part.kind == PART_LOG;
	b->counts.audit_logs += part.kind == PART_AUDIT_LOG;
	b->counts.other_files += part.kind == PART_OTHER;
	if (part.kind == PART_LOG || part.kind == PART_AUDIT_LOG || part.kind == PART_OTHER)
		return 0;
	buf_clear(&b->file);
	rc = bundle_files_read(files, &b->file, &why);
	if (rc == ERR_TOO_LARGE) {
		bundle_leave_out(b, file->path, 0, &why);
		return 0;
	}
	return rc ? err_copy(err, &why) : bundle_read_file(b, &part, file->path, file->time_ns, err);
}

static int read_files(struct bundle *b, struct bundle_files *files, struct err *err)
{
	struct bundle_file file;
	int more, rc = 0;

	while (rc == 0 && (more = bundle_files_next(files, &file, err)) != 0) {
		if (more < 0)
			return more;
		if (bundle_is_stopped(b, files))
			return bundle_stopped(b, err);
		rc = read_one(b, files, &file, err);
	}
	b->counts.lost = bundle_files_lost(files);
	return rc;
}

static int read_all(struct bundle *b, int fd, struct err *err)
{
	struct bundle_files *files;
	int rc = bundle_files_open(fd, b->name, &files, err);

	if (rc)
		return rc;
	if (b->form == BUNDLE_CRUST_GATHER)
		bundle_files_tolerate(files);
	rc = read_files(b, files, err);
	bundle_files_close(files);
	return rc;
}

static int check_objects(const struct bundle *b, struct err *err)
{
	if (b->version_count)
		return 0;
	return err_set(err, ERR_FAILED, "there is nothing to import in '%s': as a %s it has no object",
		b->name, bundle_form_name(b->form));
}

int bundle_import(struct importer *m, int fd, const char *name, const struct bundle_options *o,
	struct bundle_counts *ret, struct err *err)
{
	struct bundle b = {.name = name, .form = o->form, .options = o, .importer = m};
	int rc;

	buf_init(&b.file, LIMIT_BUNDLE_FILE_BYTES);
	buf_init(&b.json, LIMIT_BUNDLE_FILE_BYTES);
	if (!(rc = detect(&b, fd, err)) && !(rc = read_all(&b, fd, err)) && !(rc = check_objects(&b, err)) &&
		!(rc = bundle_play_patches(&b, err)))
		rc = bundle_write(&b, err);
	*ret = b.counts;
	bundle_release(&b);
	return rc;
}
